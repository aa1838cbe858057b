// Optimizer steps over rows: those that keep no second moment.

template <class Value> DEVICE Value clipped(Value value, Value bound) {
    return value > bound ? bound : value < -bound ? -bound : value;
}

template <class Value> DEVICE Value sign_of(Value value) { return value > (Value)0 ? (Value)1 : value < (Value)0 ? (Value)-1 : value; }

// Declares a step: a thread an element; i is its place in the weight and the states, n(0), n(1) … are the numbers, and
// raw the gradient times its factor.  A row outside the weight is left out.
#define STEP(name, states, ...) \
    template <class Value, class Index> \
    DEVICE void name(Value* weight, const Value* data, const Index* indices, states whole count, whole height, whole width, \
                     whole moves, const double* numbers) { \
        for (EACH(item, count * width)) { \
            whole rank = over(item, width), column = rest(item, width), row = indices[rank], i = row * width + column; \
            if (row < 0 || row >= height) continue; \
            Value raw = n(0) * data[rank * moves * width + column]; \
            __VA_ARGS__ \
        } \
    }
#define NO_STATE
#define ONE(first) Value* first,
#define TWO(first, second) Value* first, Value* second,
#define THREE(first, second, third) Value* first, Value* second, Value* third,
#define n(place) ((Value)numbers[place])

STEP(sgd_step, NO_STATE, {
    weight[i] -= n(2) * (clipped(raw, n(1)) + n(3) * weight[i]);
})

STEP(momentum_step, ONE(momentum), {
    Value movement = n(3) * momentum[i] - n(2) * (clipped(raw, n(1)) + n(4) * weight[i]);
    momentum[i] = movement;
    weight[i] += movement;
})

STEP(nesterov_step, ONE(momentum), {
    Value step = n(2) * (clipped(raw, n(1)) + n(4) * weight[i]);
    Value movement = n(3) * momentum[i] - step;
    momentum[i] = movement;
    weight[i] += n(3) * movement - step;
})

STEP(sign_step, NO_STATE, {
    weight[i] -= n(2) * (sign_of(clipped(raw, n(1))) + n(3) * weight[i]);
})

STEP(sign_momentum_step, ONE(momentum), {
    Value movement = n(3) * momentum[i] - n(4) * (clipped(raw, n(1)) + n(5) * weight[i]);
    momentum[i] = movement;
    weight[i] += n(2) * (sign_of(movement) - n(6) * weight[i]);
})

STEP(compensated_step, ONE(previous), {
    Value step = clipped(raw, n(1)), old = weight[i];
    weight[i] = old - n(2) * (step + n(3) * old + n(4) * step * step * (old - previous[i]));
    previous[i] = old;
})

STEP(compensated_momentum_step, TWO(previous, momentum), {
    Value step = clipped(raw, n(1)), old = weight[i];
    Value movement = n(5) * momentum[i] - n(2) * (step + n(3) * old + n(4) * step * step * (old - previous[i]));
    momentum[i] = movement;
    weight[i] = old + movement;
    previous[i] = old;
})
