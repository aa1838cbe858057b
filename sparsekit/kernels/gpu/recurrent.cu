// One step of a recurrent layer over a batch, and the gradient of one; a thread a unit of a sample.

template <class Real> DEVICE Real sigmoid(Real value) {
    Real power = exp(-fabs(value)), share = (Real)1 / ((Real)1 + power);
    return value >= (Real)0 || value != value ? share + (value != value ? value : (Real)0) : power * share;
}

template <class Value>
DEVICE void elman_forward(const Value* gates, const Value* recurrent, const Value* bias, Value* hidden, whole rows, whole width,
                          whole rectified) {
    for (EACH(item, rows * width)) {
        Value value = gates[item] + recurrent[item] + bias[rest(item, width)];
        hidden[item] = rectified ? (value < (Value)0 ? (Value)0 : value) : (Value)tanh(value);
    }
}

template <class Value>
DEVICE void elman_backward(const Value* gradient, const Value* hidden, Value* change, whole count, whole rectified) {
    for (EACH(item, count)) {
        Value value = hidden[item];
        change[item] = gradient[item] * (rectified ? (Value)(value > (Value)0) : (Value)1 - value * value);
    }
}

template <class Value>
DEVICE void lstm_forward(Value* gates, const Value* recurrent, const Value* bias, const Value* before, Value* cell, Value* hidden,
                         whole rows, whole width, whole stop, double lowest, double highest) {
    Value low = (Value)lowest, high = (Value)highest;
    for (EACH(item, rows * width)) {
        whole place = rest(item, width), start = over(item, width) * 4 * width + place;
        Value value_of[4];
        for (int gate = 0; gate < 4; gate++) {
            whole at = start + gate * width;
            Value sum = gates[at] + recurrent[at] + bias[gate * width + place];
            value_of[gate] = gate == 2 ? (Value)tanh(sum) : sigmoid(sum);
            gates[at] = value_of[gate];
        }
        Value value = value_of[1] * before[item] + value_of[0] * value_of[2];
        value = value < low || (stop && value != value) ? low : value;
        value = value > high ? high : value;
        cell[item] = value;
        hidden[item] = value_of[3] * (Value)tanh(value);
    }
}

template <class Value>
DEVICE void lstm_backward(const Value* gradient, Value* gradient_cell, const Value* gates, const Value* before, const Value* cell,
                          Value* change, whole rows, whole width, double lowest, double highest) {
    Value low = (Value)lowest, high = (Value)highest, one = (Value)1;
    for (EACH(item, rows * width)) {
        whole start = over(item, width) * 4 * width + rest(item, width);
        Value entry = gates[start], forget = gates[start + width], fresh = gates[start + 2 * width], leave = gates[start + 3 * width];
        Value now = cell[item], bent = (Value)tanh(now);
        Value flow = gradient_cell[item] + gradient[item] * leave * (one - bent * bent);
        flow = low < now && now < high ? flow : (Value)0;
        change[start] = flow * fresh * entry * (one - entry);
        change[start + width] = flow * before[item] * forget * (one - forget);
        change[start + 2 * width] = flow * entry * (one - fresh * fresh);
        change[start + 3 * width] = gradient[item] * bent * leave * (one - leave);
        gradient_cell[item] = flow * forget;
    }
}

template <class Value>
DEVICE void gru_forward(Value* gates, Value* recurrent, const Value* bias, const Value* bias_recurrent, const Value* before,
                        Value* extra, Value* hidden, whole rows, whole width) {
    for (EACH(item, rows * width)) {
        whole place = rest(item, width), start = over(item, width) * 3 * width + place;
        Value value_of[2];
        for (int gate = 0; gate < 2; gate++) {
            whole at = start + gate * width;
            recurrent[at] += bias_recurrent[gate * width + place];
            value_of[gate] = sigmoid(gates[at] + recurrent[at] + bias[gate * width + place]);
            gates[at] = value_of[gate];
        }
        whole at = start + 2 * width;
        Value own = recurrent[at] + bias_recurrent[2 * width + place];
        Value fresh = (Value)tanh(gates[at] + bias[2 * width + place] + value_of[0] * own);
        extra[item] = own;
        gates[at] = fresh;
        hidden[item] = ((Value)1 - value_of[1]) * fresh + value_of[1] * before[item];
    }
}

template <class Value>
DEVICE void gru_backward(Value* gradient, const Value* gates, const Value* before, const Value* extra, Value* change,
                         Value* change_recurrent, whole rows, whole width) {
    Value one = (Value)1;
    for (EACH(item, rows * width)) {
        whole start = over(item, width) * 3 * width + rest(item, width);
        Value reset = gates[start], update = gates[start + width], fresh = gates[start + 2 * width], above = gradient[item];
        Value third = above * (one - update) * (one - fresh * fresh);
        Value first = third * extra[item] * reset * (one - reset);
        Value second = above * (before[item] - fresh) * update * (one - update);
        change[start] = change_recurrent[start] = first;
        change[start + width] = change_recurrent[start + width] = second;
        change[start + 2 * width] = third;
        change_recurrent[start + 2 * width] = third * reset;
        gradient[item] = above * update;
    }
}
