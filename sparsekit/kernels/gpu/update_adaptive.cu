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
