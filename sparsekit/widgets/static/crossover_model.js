// Bytes and time of one training step, by storage type; the Python twin is crossover_model.py, and a test holds the two together.

export const FORMATS = ["dense", "csr", "row_sparse"];
export const DTYPES = { float16: 2, float32: 4, float64: 8 };
export const INDEX_DTYPES = { int32: 4, int64: 8 };
export const DENSITIES = Array.from({ length: 61 }, (_, i) => 10 ** (-6 + i / 10));

// Half to even, as Python rounds.
export function stored({ batch, rows, density }) {
  const exact = batch * rows * density;
  const low = Math.floor(exact);
  if (exact - low !== 0.5) return Math.round(exact);
  return low % 2 === 0 ? low : low + 1;
}

export function touched(setting) {
  if (setting.density >= 1) return setting.rows;
  return Math.min(stored(setting), -setting.rows * Math.expm1(setting.batch * Math.log1p(-setting.density)));
}

export function memory(kind, setting) {
  const value = DTYPES[setting.dtype];
  const index = INDEX_DTYPES[setting.index_dtype];
  const batch = kind === "dense" ? setting.batch * setting.rows * value : stored(setting) * (value + index) + (setting.batch + 1) * index;
  const gradient = kind === "row_sparse" ? touched(setting) * (setting.units * value + index) : setting.rows * setting.units * value;
  return { batch, gradient, total: batch + gradient };
}

function position(axis, value) {
  if (axis.length === 1) return [0, 0, Math.abs(axis[0] - value) > 1e-9 * Math.max(Math.abs(axis[0]), Math.abs(value))];
  let low = 0;
  for (let i = 1; i < axis.length - 1; i += 1) if (axis[i] <= value) low = i;
  const share = (value - axis[low]) / (axis[low + 1] - axis[low]);
  return [low, Math.min(Math.max(share, 0), 1), !(share >= -1e-9 && share <= 1 + 1e-9)];
}

function cell(grid, kind, fixed, names, from) {
  const place = [...from];
  let [factor, beyond] = [1, false];
  const sizes = [grid.axes.dtype.length, ...(kind === "dense" ? [] : [grid.axes.index_dtype.length]), ...names.map((name) => grid.axes[name].length)];
  for (;;) {
    const flat = [...fixed, ...place].reduce((sum, at, i) => sum * sizes[i] + at, 0);
    const time = grid.times[kind][flat];
    if (time !== null && time !== undefined) return [time * factor, beyond];
    const back = [3, 2, 0, 1].find((i) => i < names.length && place[i] > 0);
    if (back === undefined) return [null, true];
    const axis = grid.axes[names[back]];
    factor *= axis[place[back]] / axis[place[back] - 1];
    place[back] -= 1;
    beyond = true;
  }
}

// Interpolate linearly along each axis; gives [microseconds or null, extrapolated].
export function estimateTime(grid, kind, setting) {
  const fixed = [grid.axes?.dtype.indexOf(setting.dtype) ?? -1];
  const index = grid.axes?.index_dtype.indexOf(setting.index_dtype) ?? -1;
  if (fixed[0] < 0 || index < 0) return [null, true];
  if (kind !== "dense") fixed.push(index);
  const names = kind === "dense" ? ["rows", "units", "batch"] : ["rows", "units", "batch", "density"];
  const places = names.map((name) => position(grid.axes[name], setting[name]));
  let total = 0;
  let beyond = places.some(([, , outside]) => outside);
  for (let corner = 0; corner < 1 << names.length; corner += 1) {
    const sides = names.map((_, i) => (corner >> (names.length - 1 - i)) & 1);
    const weight = places.reduce((product, [, share], i) => product * (sides[i] ? share : 1 - share), 1);
    if (!(weight > 0)) continue;
    const [time, past] = cell(grid, kind, fixed, names, places.map(([low], i) => low + sides[i]));
    if (time === null) return [null, true];
    total += weight * time;
    beyond ||= past;
  }
  return [total, beyond];
}

// Where the smallest of several curves changes: [density, smallest below, smallest above].
export function breakEvens(densities, curves) {
  const found = [];
  const names = Object.keys(curves);
  let previous = "";
  densities.forEach((density, i) => {
    const known = names.filter((name) => curves[name][i] !== null);
    const best = known.reduce((least, name) => (least === "" || curves[name][i] < curves[least][i] ? name : least), "");
    if (previous && best && best !== previous) found.push([crossing(densities, curves[previous], curves[best], i) ?? density, previous, best]);
    previous = best || previous;
  });
  return found;
}

function crossing(densities, old, fresh, i) {
  const ends = [old[i - 1], fresh[i - 1], old[i], fresh[i]];
  if (ends.some((value) => value === null || !(value > 0))) return null;
  const [before, after] = [Math.log(ends[0] / ends[1]), Math.log(ends[2] / ends[3])];
  const share = before !== after ? before / (before - after) : 1;
  return densities[i - 1] * (densities[i] / densities[i - 1]) ** Math.min(Math.max(share, 0), 1);
}
