// What formulas of optimizer steps call; the steps themselves are made of the formulas by step_source.py.

template <class Value> DEVICE Value clipped(Value value, Value bound) {
    return value > bound ? bound : value < -bound ? -bound : value;
}

template <class Value> DEVICE Value sign_of(Value value) { return value > (Value)0 ? (Value)1 : value < (Value)0 ? (Value)-1 : value; }

template <class Value> DEVICE Value _larger(Value value, Value other) { return value > other ? value : other; }

template <class Value> DEVICE Value _zero_if(bool condition, Value value) { return condition ? (Value)0 : value; }

// A step: a thread an element.  i is its place in the weight and the states, to_weight, to_mean …, n(1), n(2) … are the numbers,
// and gradient has been multiplied by its factor.  A row outside the weight is left out.
#define STEP(name, states, ...) \
    template <class Value, class Index> \
    DEVICE void name(Value* to_weight, const Value* data, const Index* indices, states whole count, whole height, whole width, \
                     whole moves, const double* numbers) { \
        for (EACH(item, count * width)) { \
            whole rank = over(item, width), column = rest(item, width), row = indices[rank], i = row * width + column; \
            if (row < 0 || row >= height) continue; \
            Value gradient = n(0) * data[rank * moves * width + column]; \
            __VA_ARGS__ \
        } \
    }
#define STATES(...) __VA_ARGS__
#define n(place) ((Value)numbers[place])
