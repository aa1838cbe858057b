// Optimizer steps with a learning rate of each element; STEP is in update.cu.

STEP(adam_step, TWO(mean, variance), {
    Value step = clipped(raw + n(3) * weight[i], n(1));
    mean[i] = n(5) * mean[i] + n(6) * step;
    variance[i] = n(7) * variance[i] + n(8) * step * step;
    weight[i] -= n(2) * mean[i] / (sqrt(variance[i]) + n(4));
})

STEP(adamw_step, TWO(mean, variance), {
    Value step = clipped(raw, n(1));
    mean[i] = n(5) * mean[i] + n(6) * step;
    variance[i] = n(7) * variance[i] + n(8) * step * step;
    weight[i] -= n(2) * mean[i] / (sqrt(variance[i]) + n(4)) + n(3) * weight[i];
})

STEP(adamax_step, TWO(mean, largest), {
    Value step = clipped(raw + n(3) * weight[i], n(1));
    Value size = n(6) * largest[i], now = fabs(step);
    size = size > now ? size : now;
    mean[i] = n(4) * mean[i] + n(5) * step;
    largest[i] = size;
    weight[i] -= size != (Value)0 ? n(2) * mean[i] / size : (Value)0;
})

STEP(nadam_step, TWO(mean, variance), {
    Value step = clipped(raw + n(4) * weight[i], n(1));
    mean[i] = n(7) * mean[i] + n(8) * step;
    variance[i] = n(9) * variance[i] + n(10) * step * step;
    weight[i] -= (n(2) * step + n(3) * mean[i]) / (sqrt(n(6) * variance[i]) + n(5));
})

STEP(lamb_step, THREE(out, mean, variance), {
    Value step = clipped(raw, n(1));
    mean[i] = n(6) * mean[i] + n(7) * step;
    variance[i] = n(8) * variance[i] + n(9) * step * step;
    out[i] = n(2) * mean[i] / (sqrt(n(3) * variance[i]) + n(5)) + n(4) * weight[i];
})

STEP(adagrad_step, ONE(history), {
    Value step = clipped(raw, n(1));
    history[i] += step * step;
    weight[i] -= n(2) * (step / sqrt(history[i] + n(4)) + n(3) * weight[i]);
})

// One history a row, so a team of threads a row.
template <class Value, class Index>
DEVICE void group_adagrad_step(Value* weight, const Value* data, const Index* indices, Value* history, whole count, whole height,
                               whole width, whole moves, whole lanes, const double* numbers) {
    for (EACH(item, count * lanes)) {
        whole rank = over(item, lanes), lane = rest(item, lanes), row = indices[rank];
        if (row < 0 || row >= height) continue;
        const Value* gradient = data + rank * moves * width;
        Value total = 0;
        for (whole column = lane; column < width; column += lanes) {
            Value step = clipped(n(0) * gradient[column], n(1));
            total += step * step;
        }
        Value held = history[row] + team_sum(total, lanes) / (Value)(width > 0 ? width : 1);
        Value speed = n(2) / sqrt(held + n(3));
        for (whole column = lane; column < width; column += lanes)
            weight[row * width + column] -= speed * clipped(n(0) * gradient[column], n(1));
        team_meets(lanes);  // all have read the history
        if (lane == 0) history[row] = held;
    }
}

STEP(rmsprop_step, ONE(square), {
    Value step = clipped(raw + n(3) * weight[i], n(1));
    square[i] = n(5) * square[i] + n(6) * step * step;
    weight[i] = clipped(weight[i] - n(2) * step / sqrt(square[i] + n(4)), n(7));
})

STEP(centered_rmsprop_step, THREE(square, mean, delta), {
    Value step = clipped(raw + n(3) * weight[i], n(1));
    square[i] = n(5) * square[i] + n(6) * step * step;
    mean[i] = n(5) * mean[i] + n(6) * step;
    delta[i] = n(8) * delta[i] - n(2) * step / sqrt(square[i] - mean[i] * mean[i] + n(4));
    weight[i] = clipped(weight[i] + delta[i], n(7));
})

STEP(ftrl_step, TWO(total, square), {
    Value step = clipped(raw, n(1)), second = square[i] + step * step, root = sqrt(second);
    Value z = total[i] + step - (root - sqrt(square[i])) * weight[i] / n(2);
    Value value = (sign_of(z) * n(4) - z) / ((n(5) + root) / n(2) + n(3));
    total[i] = z;
    square[i] = second;
    weight[i] = fabs(z) <= n(4) ? (Value)0 : value;
})

STEP(ftml_step, THREE(scale, variance, total), {
    Value step = clipped(raw + n(4) * weight[i], n(1));
    Value second = n(8) * variance[i] + n(9) * step * step, now = n(2) * (sqrt(n(3) * second) + n(5));
    Value z = n(6) * total[i] + n(7) * step - (now - n(6) * scale[i]) * weight[i];
    variance[i] = second;
    scale[i] = now;
    total[i] = z;
    weight[i] = -z / now;
})

STEP(adadelta_step, TWO(square, moved), {
    Value step = clipped(raw, n(1)), second = n(4) * square[i] + n(5) * step * step;
    Value movement = sqrt(moved[i] + n(3)) / sqrt(second + n(3)) * step;
    square[i] = second;
    moved[i] = n(4) * moved[i] + n(5) * movement * movement;
    weight[i] -= movement + n(2) * weight[i];
})
