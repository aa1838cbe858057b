// Functions of elements that would be several launches of cupy's, each over all of the memory.

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
template <class Above, class Made, class Out> DEVICE void sigmoid_slope(const Above* above, const Made* made, Out* out, whole count) {
    EACH_ELEMENT(Sum value = (Sum)made[place]; out[place] = (Out)(((Sum)1 - value) * value * (Sum)above[place]);)
}

// nan where the result of the rectifier is nan.
template <class Above, class Made, class Out> DEVICE void relu_slope(const Above* above, const Made* made, Out* out, whole count) {
    EACH_ELEMENT(Sum value = (Sum)made[place]; out[place] = (Out)(value != value ? value : (Sum)above[place] * (Sum)(value > 0));)
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
