// Copies of several arrays, and functions of elements that would be several launches of cupy's, each over all of the memory.

#define EACH_ELEMENT(...) \
    typedef SUM(Out) Sum; \
    for (EACH(place, count)) { \
        __VA_ARGS__ \
    }

template <class Sum> DEVICE Sum logistic(Sum value) { return (Sum)1 / ((Sum)1 + (Sum)exp(-value)); }

template <class Data, class Out> DEVICE void sigmoid(const Data* data, Out* out, whole count) {
    EACH_ELEMENT(out[place] = (Out)logistic((Sum)data[place]);)
}

// From the result of the logistic function.
template <class Above, class Result, class Out>
DEVICE void sigmoid_slope(const Above* above, const Result* result, Out* out, whole count) {
    EACH_ELEMENT(Sum value = (Sum)result[place]; out[place] = (Out)(((Sum)1 - value) * value * (Sum)above[place]);)
}

// nan where the result of the rectifier is nan.
template <class Above, class Result, class Out>
DEVICE void relu_slope(const Above* above, const Result* result, Out* out, whole count) {
    EACH_ELEMENT(Sum value = (Sum)result[place];
                 out[place] = (Out)(value != value ? value : (Sum)above[place] * (Sum)(value > 0));)
}

template <class Data, class Out> DEVICE void softplus(const Data* data, Out* out, whole count) {
    EACH_ELEMENT(Sum value = (Sum)data[place];
                 Sum size = value < 0 ? -value : value;
                 out[place] = (Out)((value > 0 || value != value ? value : (Sum)0) + (Sum)log1p(exp(-size)));)
}

// The small term last: it may be smaller than a digit of the others.
template <class Data, class Label, class Out>
DEVICE void cross_entropy(const Data* data, const Label* label, Out* out, whole count) {
    EACH_ELEMENT(Sum value = (Sum)data[place];
                 Sum size = value < 0 ? -value : value;
                 Sum large = value > 0 || value != value ? value : (Sum)0;
                 out[place] = (Out)(large - value * (Sum)(Data)label[place] + (Sum)log1p(exp(-size)));)
}

template <class Above, class Data, class Label, class Out>
DEVICE void cross_entropy_slope(const Above* above, const Data* data, const Label* label, Out* out, whole count) {
    EACH_ELEMENT(out[place] = (Out)((logistic((Sum)data[place]) - (Sum)(Data)label[place]) * (Sum)above[place]);)
}

// Four arrays, some of which may have no elements.
template <class A, class B, class C, class D>
DEVICE void copy_four(const A* a, const B* b, const C* c, const D* d, A* to_a, B* to_b, C* to_c, D* to_d, whole in_a, whole in_b,
                      whole in_c, whole in_d) {
    for (EACH(item, in_a + in_b + in_c + in_d)) {
        whole place = item;
        if (place < in_a) to_a[place] = a[place];
        else if ((place -= in_a) < in_b) to_b[place] = b[place];
        else if ((place -= in_b) < in_c) to_c[place] = c[place];
        else to_d[place - in_c] = d[place - in_c];
    }
}
