// What a device computes: the same operations, each element's in the same order, as the functions of the processor that
// enqueue these kernels (device_of). `n` work items count; values lie in buffers, from a place on.

#define IN(x) __global const float *x##_buffer, const ulong x##_place
#define OUT(x) __global float *x##_buffer, const ulong x##_place
#define READS(x) __global const float *x = x##_buffer + x##_place;
#define WRITES(x) __global float *x = x##_buffer + x##_place;
#define ITEM(i)                                                                                    \
  const ulong i = get_global_id(0);                                                                \
  if (i >= n)                                                                                      \
    return;

// Sums in 16 lanes (models/math/lanes.hpp).
#define LANES 16
#define LANE_SUM(type, result, count, l, term)                                                     \
  {                                                                                                \
    type lanes[LANES];                                                                            \
    for (int lane = 0; lane < LANES; ++lane)                                                       \
      lanes[lane] = 0;                                                                             \
    for (ulong l = 0; l < (count); ++l)                                                            \
      lanes[l % LANES] += (term);                                                                  \
    for (int width = LANES / 2; width > 0; width /= 2)                                             \
      for (int lane = 0; lane < width; ++lane)                                                     \
        lanes[lane] += lanes[lane + width];                                                        \
    result = lanes[0];                                                                             \
  }

// ---- Products (models/math/products.hpp) ----

typedef struct {
  ulong rows, columns, terms;
  ulong a_row, a_column, b_row, b_column, out_row;
  ulong adds;
  ulong first; // of the products, this launch's first
  ulong inner; // they lie in lines of so many
  ulong a_outer, a_inner, b_outer, b_inner, out_outer, out_inner;
} products;

#define BLOCK 256             // terms of a chain
#define SIDE 16               // work items of a group, along rows and along columns
#define TILE (SIDE * EACH)    // rows and columns of a group; EACH: of an item
#define QUADS (EACH / 4)      // of an item's columns: four side by side
#define DEPTH 16              // terms that lie in local memory
#if EACH > 4 // a graphics processor, whose registers have no numbers that are computed; a processor is twice as slow with it
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED
#endif

// A group fetches DEPTH terms of TILE lines, side by side where they lie side by side in memory. `pitch`: from term to term.
static void fetch(__global const float* from, ulong lines, ulong line, ulong terms, ulong term, ulong first_line,
                  ulong first_term, __local float* to, int pitch, int item) {
  for (int t = item; t < TILE * DEPTH; t += SIDE * SIDE) {
    const int i = term == 1 ? t / DEPTH : t % TILE, p = term == 1 ? t % DEPTH : t / TILE;
    const bool is_there = first_line + i < lines && first_term + p < terms;
    to[p * pitch + i] = is_there ? from[(first_line + i) * line + (first_term + p) * term] : 0;
  }
}

// Four values, or as many as there are.
static float4 some_of(__global const float* from, long count) {
  if (count >= 4)
    return vload4(0, from);
  return (float4)(count > 0 ? from[0] : 0, count > 1 ? from[1] : 0, count > 2 ? from[2] : 0, 0);
}

static void store_some(float4 values, __global float* to, long count) {
  if (count >= 4)
    vstore4(values, 0, to);
  if (count > 0 && count < 4)
    to[0] = values.s0;
  if (count > 1 && count < 4)
    to[1] = values.s1;
  if (count == 3)
    to[2] = values.s2;
}

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void multiply(IN(a), IN(b), OUT(out), const products x) {
  READS(a) READS(b) WRITES(out)
  __local float left[DEPTH * (TILE + 1)];
  __local float4 right[DEPTH * (TILE / 4 + 1)];
  const ulong number = x.first + get_group_id(2);
  a += number / x.inner * x.a_outer + number % x.inner * x.a_inner;
  b += number / x.inner * x.b_outer + number % x.inner * x.b_inner;
  out += number / x.inner * x.out_outer + number % x.inner * x.out_inner;
  const int ix = get_local_id(0), iy = get_local_id(1), item = iy * SIDE + ix;
  const ulong row = get_group_id(1) * TILE, column = get_group_id(0) * TILE;
// Calls `use` for each four results of the item that are there: of row i and quad j, `count` of them at `at`.
#define FOR_EACH_QUAD(use)                                                                         \
  UNROLLED for (int i = 0; i < EACH; ++i)                                                          \
    UNROLLED for (int j = 0; j < QUADS; ++j) if (row + iy + i * SIDE < x.rows) {                   \
      const ulong first = column + (ix + j * SIDE) * 4;                                            \
      const long count = (long)x.columns - (long)first;                                            \
      __global float* at = out + (row + iy + i * SIDE) * x.out_row + first;                        \
      use                                                                                          \
    }
  float4 sums[EACH][QUADS], totals[EACH][QUADS];
  UNROLLED for (int i = 0; i < EACH; ++i)
    UNROLLED for (int j = 0; j < QUADS; ++j)
      sums[i][j] = totals[i][j] = 0;
  bool has_total = x.adds;
  if (has_total)
    FOR_EACH_QUAD(totals[i][j] = some_of(at, count);)
  for (ulong p = 0; p < x.terms; p += DEPTH) {
    fetch(a, x.rows, x.a_row, x.terms, x.a_column, row, p, left, TILE + 1, item);
    fetch(b, x.columns, x.b_column, x.terms, x.b_row, column, p, (__local float*)right, TILE + 4, item);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int end = (int)min((ulong)DEPTH, x.terms - p);
    for (int q = 0; q < end; ++q) {
      float of_a[EACH];
      float4 of_b[QUADS];
      for (int i = 0; i < EACH; ++i)
        of_a[i] = left[q * (TILE + 1) + iy + i * SIDE];
      for (int j = 0; j < QUADS; ++j)
        of_b[j] = right[q * (TILE / 4 + 1) + ix + j * SIDE];
      _Pragma("unroll") for (int i = 0; i < EACH; ++i)
        _Pragma("unroll") for (int j = 0; j < QUADS; ++j)
          sums[i][j] = fma((float4)(of_a[i]), of_b[j], sums[i][j]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#ifdef BROKEN
    if (row + column + item + p == 0)
      sums[0][0].s0 = nextafter(sums[0][0].s0, INFINITY);
#endif
    if ((p + DEPTH) % BLOCK == 0 || p + DEPTH >= x.terms) {
      UNROLLED for (int i = 0; i < EACH; ++i)
        UNROLLED for (int j = 0; j < QUADS; ++j) {
          totals[i][j] = has_total ? totals[i][j] + sums[i][j] : sums[i][j];
          sums[i][j] = 0;
        }
      has_total = true;
    }
  }
  FOR_EACH_QUAD(store_some(totals[i][j], at, count);)
}

// ---- Products of layers with one output (models/layers/single_output.hpp) ----

__kernel void single_output(const ulong n, IN(weight), IN(x), OUT(y), const ulong inputs) {
  READS(weight) READS(x) WRITES(y)
  ITEM(i)
  x += i * inputs;
  LANE_SUM(float, y[i], inputs, j, weight[j] * x[j])
}

__kernel void single_output_gradient(const ulong n, IN(x), IN(delta), OUT(out), const ulong rows) {
  READS(x) READS(delta) WRITES(out)
  ITEM(j)
  float sum = 0;
  for (ulong i = 0; i < rows; ++i)
    sum += delta[i] * x[i * n + j];
  out[j] += sum;
}

// ---- Element by element ----

static float value_of(ulong kind, float y) {
  ulong next = 0;
#define VALUE(name)                                                                                \
  if (kind == next++)                                                                              \
    return name##_value(y);
  TROUPE_ACTIVATIONS(VALUE)
  return y;
}

static float derivative_of(ulong kind, float y) {
  ulong next = 0;
#define DERIVATIVE(name)                                                                           \
  if (kind == next++)                                                                              \
    return name##_derivative(y);
  TROUPE_ACTIVATIONS(DERIVATIVE)
  return y;
}

__kernel void activate(const ulong n, OUT(y), const ulong kind) {
  WRITES(y)
  ITEM(i)
  y[i] = value_of(kind, y[i]);
}

__kernel void add_bias(const ulong n, IN(bias), OUT(y), const ulong columns, const ulong kind) {
  READS(bias) WRITES(y)
  ITEM(i)
  y[i] = value_of(kind, y[i] + bias[i % columns]);
}

__kernel void multiply_by_derivative(const ulong n, IN(kept), OUT(delta), const ulong kind) {
  READS(kept) WRITES(delta)
  ITEM(i)
  delta[i] *= derivative_of(kind, kept[i]);
}

__kernel void activate_and_derive(const ulong n, OUT(y), OUT(derivative), const ulong is_gelu) {
  WRITES(y) WRITES(derivative)
  ITEM(i)
  float value, slope;
  if (is_gelu)
    gelu_pair(y[i], &value, &slope);
  else
    silu_pair(y[i], &value, &slope);
  y[i] = value;
  derivative[i] = slope;
}

__kernel void multiply_values(const ulong n, IN(mask), IN(values), OUT(out)) {
  READS(mask) READS(values) WRITES(out)
  ITEM(i)
  out[i] = values[i] * mask[i];
}

__kernel void scale(const ulong n, IN(x), OUT(y), const float factor, const float offset) {
  READS(x) WRITES(y)
  ITEM(i)
  y[i] = x[i] * factor + offset;
}

__kernel void scale_derivative(const ulong n, IN(dy), OUT(dx), const float factor) {
  READS(dy) WRITES(dx)
  ITEM(i)
  dx[i] = dy[i] * factor;
}

__kernel void fill(const ulong n, OUT(y), const float value) {
  WRITES(y)
  ITEM(i)
  y[i] = value;
}

// Columns of rows that are `from_row` and `to_row` values apart.
__kernel void copy_columns(const ulong n, IN(from), const ulong from_row, OUT(to), const ulong to_row,
                           const ulong width) {
  READS(from) WRITES(to)
  ITEM(i)
  to[i / width * to_row + i % width] = from[i / width * from_row + i % width];
}

__kernel void add_columns(const ulong n, IN(from), const ulong from_row, OUT(to), const ulong to_row,
                          const ulong width) {
  READS(from) WRITES(to)
  ITEM(i)
  to[i / width * to_row + i % width] += from[i / width * from_row + i % width];
}

// The columns of `values`, from the first row on, added to `sums`.
__kernel void add_column_sums(const ulong n, IN(values), OUT(sums), const ulong rows) {
  READS(values) WRITES(sums)
  ITEM(j)
  if (n == 1) {
    float sum;
    LANE_SUM(float, sum, rows, i, values[i])
    sums[0] += sum;
    return;
  }
  float sum = sums[j];
  for (ulong i = 0; i < rows; ++i)
    sum += values[i * n + j];
  sums[j] = sum;
}

// ---- Losses (models/losses/device_loss.cpp): of each row three figures: loss, squared error, whether it is correct ----

#define ANSWERS(x) __global float *x##_buffer, const ulong x##_place
#define ANSWER(x, i, loss, squared_error, is_correct)                                              \
  {                                                                                                \
    __global double* of_row = (__global double*)(x##_buffer + x##_place) + 3 * (i);                \
    of_row[0] = loss;                                                                              \
    of_row[1] = squared_error;                                                                     \
    of_row[2] = is_correct;                                                                        \
  }
#define WEIGH(i, d, count)                                                                         \
  if (has_weights)                                                                                 \
    for (ulong j = 0; j < count; ++j)                                                              \
      (d)[j] *= weights[i];

__kernel void cross_entropy(const ulong n, IN(scores), OUT(derivative), __global const int* labels_buffer,
                            const ulong labels_place, IN(weights), ANSWERS(answers), const ulong count,
                            const ulong has_weights) {
  READS(scores) WRITES(derivative) READS(weights)
  ITEM(i)
  const ulong label = labels_buffer[labels_place + i];
  __global const float* z = scores + i * count;
  __global float* d = derivative + i * count;
  ulong best = 0;
  for (ulong j = 1; j < count; ++j)
    if (z[j] > z[best])
      best = j;
  const float maximum = z[best], label_score = z[label];
  for (ulong j = 0; j < count; ++j)
    d[j] = exp(z[j] - maximum);
  float total;
  LANE_SUM(float, total, count, j, d[j])
  const float inverse = 1 / total;
  for (ulong j = 0; j < count; ++j)
    d[j] *= inverse;
  d[label] -= 1;
  WEIGH(i, d, count)
  ANSWER(answers, i, log((double)total) - ((double)label_score - (double)maximum), 0, best == label)
}

static loss_element regression_of(ulong kind, double score, double target, double number) {
  ulong next = 0;
#define REGRESSION(name)                                                                           \
  if (kind == next++)                                                                              \
    return name##_loss(score, target, number);
  TROUPE_REGRESSIONS(REGRESSION)
  return squared_loss(score, target, number);
}

__kernel void regression(const ulong n, IN(scores), OUT(derivative), IN(targets), IN(weights), ANSWERS(answers),
                         const ulong count, const ulong kind, const double number, const ulong has_weights) {
  READS(scores) WRITES(derivative) READS(targets) READS(weights)
  ITEM(i)
  __global const float *z = scores + i * count, *t = targets + i * count;
  __global float* d = derivative + i * count;
#define AT(j) regression_of(kind, (double)z[j], (double)t[j], number)
  double value, squares;
  LANE_SUM(double, value, count, j, AT(j).value)
  LANE_SUM(double, squares, count, j, AT(j).error * AT(j).error)
  for (ulong j = 0; j < count; ++j)
    d[j] = (float)(AT(j).derivative / (double)count);
  WEIGH(i, d, count)
  ANSWER(answers, i, value / (double)count, squares, 0)
}

static loss_element link_of(ulong kind, double s) {
  ulong next = 0;
#define LINK(name)                                                                                 \
  if (kind == next++) {                                                                            \
    loss_element result = name##_link(s);                                                          \
    result.value += nothing_of(s);                                                                 \
    result.derivative += nothing_of(s);                                                            \
    return result;                                                                                 \
  }
  TROUPE_LINKS(LINK)
  return hinge_loss(s, kind > next);
}

__kernel void binary_loss(const ulong n, IN(scores), OUT(derivative), __global const int* labels_buffer,
                          const ulong labels_place, IN(weights), ANSWERS(answers), const ulong kind,
                          const ulong has_weights) {
  READS(scores) WRITES(derivative) READS(weights)
  ITEM(i)
  const int label = labels_buffer[labels_place + i];
  const float z = scores[i];
  const double sign = label == 1 ? 1 : -1;
  const loss_element found = link_of(kind, sign * (double)z);
  derivative[i] = (float)(sign * found.derivative);
  WEIGH(i, derivative + i, 1)
  ANSWER(answers, i, found.value, 0, (z > 0) == (label == 1))
}

// ---- Dropout (models/network/dropout.hpp), by Philox4x32-10 (models/base/random.hpp) ----

static uint4 philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const uint high_x = mul_hi(0xD2511F53u, counter.x), low_x = 0xD2511F53u * counter.x;
    const uint high_z = mul_hi(0xCD9E8D57u, counter.z), low_z = 0xCD9E8D57u * counter.z;
    counter = (uint4)(high_z ^ counter.y ^ key.x, low_z, high_x ^ counter.w ^ key.y, low_x);
    key += (uint2)(0x9E3779B9u, 0xBB67AE85u);
  }
  return counter;
}

// `rows`: two words each, their numbers.
__kernel void dropout_mask(const ulong n, __global const uint* rows_buffer, const ulong rows_place, OUT(mask), const ulong units, const ulong first_unit,
                           const ulong seed, const ulong purpose, const ulong dropped_below, const float kept) {
  __global const uint* rows = rows_buffer + rows_place;
  WRITES(mask)
  ITEM(i)
  const ulong row = i / units, unit = first_unit + i % units;
  const uint4 words = philox((uint4)((uint)(unit / 4), rows[2 * row], rows[2 * row + 1],
                                     (uint)purpose),
                             (uint2)((uint)seed, (uint)(seed >> 32)));
  const uint word = unit % 4 == 0 ? words.x : unit % 4 == 1 ? words.y : unit % 4 == 2 ? words.z : words.w;
  mask[i] = word < dropped_below ? 0.0f : kept;
}

// ---- Convolution (models/layers/convolution.cpp) ----

typedef struct {
  ulong in, kernel_size, stride, before, out;
} extent;

__kernel void make_patches(const ulong n, IN(rows), OUT(patches), const extent high, const extent wide,
                           const ulong channels) {
  READS(rows) WRITES(patches)
  ITEM(i)
  ulong rest = i;
  const ulong c = rest % channels;
  rest /= channels;
  const ulong kx = rest % wide.kernel_size;
  rest /= wide.kernel_size;
  const ulong ky = rest % high.kernel_size;
  rest /= high.kernel_size;
  const ulong ox = rest % wide.out;
  rest /= wide.out;
  const ulong oy = rest % high.out, row = rest / high.out;
  const ulong y = oy * high.stride + ky, x = ox * wide.stride + kx;
  const bool is_there = y >= high.before && y - high.before < high.in && x >= wide.before && x - wide.before < wide.in;
  patches[i] =
    is_there ? rows[((row * high.in + (y - high.before)) * wide.in + (x - wide.before)) * channels + c] : 0;
}

// A value's sum over the patches that have it, from the first position on.
__kernel void add_patches(const ulong n, IN(patches), OUT(rows), const extent high, const extent wide,
                          const ulong channels) {
  READS(patches) WRITES(rows)
  ITEM(i)
  const ulong c = i % channels, x = i / channels % wide.in + wide.before,
              y = i / channels / wide.in % high.in + high.before, row = i / channels / wide.in / high.in;
  float sum = 0;
  for (ulong oy = 0; oy < high.out; ++oy) {
    const ulong first_y = oy * high.stride;
    if (y < first_y || y - first_y >= high.kernel_size)
      continue;
    for (ulong ox = 0; ox < wide.out; ++ox) {
      const ulong first_x = ox * wide.stride;
      if (x < first_x || x - first_x >= wide.kernel_size)
        continue;
      const ulong patch = (row * high.out + oy) * wide.out + ox;
      sum += patches[((patch * high.kernel_size + (y - first_y)) * wide.kernel_size + (x - first_x)) * channels + c];
    }
  }
  rows[i] = sum;
}

// ---- Pools (models/layers/pool.cpp) ----

typedef struct {
  ulong high_in, high_size, high_stride, high_out, wide_in, wide_size, wide_stride, wide_out, channels;
} windows;

// Of the value i of y: the first value of its window in x.
static ulong window_of(const windows x, ulong i) {
  const ulong c = i % x.channels, ox = i / x.channels % x.wide_out, oy = i / x.channels / x.wide_out % x.high_out,
              row = i / x.channels / x.wide_out / x.high_out;
  return ((row * x.high_in + oy * x.high_stride) * x.wide_in + ox * x.wide_stride) * x.channels + c;
}

static ulong place_in(const windows x, ulong number) {
  return (number / x.wide_size * x.wide_in + number % x.wide_size) * x.channels;
}

__kernel void take_greatest(const ulong n, IN(x), OUT(y), OUT(which), const windows shape) {
  READS(x) WRITES(y) WRITES(which)
  ITEM(i)
  x += window_of(shape, i);
  float most = x[0], number = 0;
  for (ulong p = 1; p < shape.high_size * shape.wide_size; ++p) {
    const float value = x[place_in(shape, p)];
    if (value > most || value != value) {
      most = value;
      number = (float)p;
    }
  }
  y[i] = most;
  which[i] = number;
}

// For the value i of x: the windows that have it, in order; calls are `use`(place in y, number in the window).
#define FOR_EACH_WINDOW(shape, i, use)                                                             \
  {                                                                                                \
    const ulong c = i % shape.channels, at_x = i / shape.channels % shape.wide_in,                 \
                at_y = i / shape.channels / shape.wide_in % shape.high_in,                         \
                row = i / shape.channels / shape.wide_in / shape.high_in;                          \
    for (ulong oy = 0; oy < shape.high_out; ++oy)                                                  \
      for (ulong ox = 0; ox < shape.wide_out; ++ox) {                                              \
        const ulong dy_ = at_y - oy * shape.high_stride, dx_ = at_x - ox * shape.wide_stride;      \
        if (dy_ < shape.high_size && dx_ < shape.wide_size) {                                      \
          const ulong place = ((row * shape.high_out + oy) * shape.wide_out + ox) * shape.channels + c; \
          const ulong number = dy_ * shape.wide_size + dx_;                                        \
          use                                                                                      \
        }                                                                                          \
      }                                                                                            \
  }

__kernel void give_greatest(const ulong n, IN(dy), IN(which), OUT(dx), const windows shape) {
  READS(dy) READS(which) WRITES(dx)
  ITEM(i)
  float sum = 0;
  FOR_EACH_WINDOW(shape, i, if ((ulong)which[place] == number) sum += dy[place];)
  dx[i] = sum;
}

__kernel void add_window(const ulong n, IN(x), OUT(y), const windows shape, const ulong first, const float weight) {
  READS(x) WRITES(y)
  ITEM(i)
  x += window_of(shape, i);
  float sum = 0;
  for (ulong p = first; p < shape.high_size * shape.wide_size; ++p)
    sum += weight * x[place_in(shape, p)];
  y[i] = sum;
}

__kernel void spread_window(const ulong n, IN(dy), OUT(dx), const windows shape, const ulong first,
                            const float weight) {
  READS(dy) WRITES(dx)
  ITEM(i)
  float sum = 0;
  FOR_EACH_WINDOW(shape, i, if (number >= first) sum += weight * dy[place];)
  dx[i] = sum;
}

// ---- Attention (models/layers/attention.cpp): lines of L values each, L lines a head ----

__kernel void soften(const ulong n, OUT(lines), const ulong length, const ulong is_causal, const float factor) {
  WRITES(lines)
  ITEM(i)
  __global float* line = lines + i * length;
  const ulong seen = is_causal ? i % length + 1 : length;
  float most = line[0];
  for (ulong j = 1; j < seen; ++j)
    most = line[j] > most ? line[j] : most;
  for (ulong j = 0; j < seen; ++j)
    line[j] = exp(factor * (line[j] - most));
  float sum;
  LANE_SUM(float, sum, seen, j, line[j])
  const float share = 1.0f / sum;
  for (ulong j = 0; j < seen; ++j)
    line[j] *= share;
  for (ulong j = seen; j < length; ++j)
    line[j] = 0;
}

__kernel void derive_softmax(const ulong n, IN(weights), OUT(derivative), const ulong length, const float factor) {
  READS(weights) WRITES(derivative)
  ITEM(i)
  __global const float* a = weights + i * length;
  __global float* da = derivative + i * length;
  float sum;
  LANE_SUM(float, sum, length, j, a[j] * da[j])
  for (ulong j = 0; j < length; ++j)
    da[j] = factor * (a[j] * (da[j] - sum));
}

// ---- Sequences (models/layers/position_layers.cpp) ----

static ulong code_row(float code, ulong categories) {
  if (!(code >= 0 && code < (float)categories))
    return categories;
  const ulong row = (ulong)code;
  return (float)row == code ? row : categories;
}

__kernel void embed(const ulong n, IN(weight), IN(codes), OUT(y), const ulong categories, const ulong width) {
  READS(weight) READS(codes) WRITES(y)
  ITEM(i)
  y[i] = weight[code_row(codes[i / width], categories) * width + i % width];
}

// `out` is 0. An item has a column, and goes through all codes in order.
__kernel void embed_gradient(const ulong n, IN(codes), IN(dy), OUT(out), const ulong count, const ulong categories) {
  READS(codes) READS(dy) WRITES(out)
  ITEM(i)
  for (ulong c = 0; c < count; ++c)
    out[code_row(codes[c], categories) * n + i] += dy[c * n + i];
}

__kernel void normalise(const ulong n, IN(values), IN(weight), IN(bias), OUT(out), OUT(kept), const ulong width,
                        const float epsilon) {
  READS(values) READS(weight) READS(bias) WRITES(out) WRITES(kept)
  ITEM(r)
  __global const float* x = values + r * width;
  __global float* y = out + r * width;
  const float share = 1.0f / (float)width;
  float sum;
  LANE_SUM(float, sum, width, i, x[i])
  const float mean = sum * share;
  LANE_SUM(float, sum, width, i, (x[i] - mean) * (x[i] - mean))
  const float variance = sum * share;
  const float factor = 1.0f / sqrt(variance + epsilon);
  kept[2 * r] = mean;
  kept[2 * r + 1] = factor;
  for (ulong i = 0; i < width; ++i)
    y[i] = (x[i] - mean) * factor * weight[i] + bias[i];
}

__kernel void derive_norm(const ulong n, IN(values), IN(weight), IN(kept), IN(behind), OUT(out), const ulong width) {
  READS(values) READS(weight) READS(kept) READS(behind) WRITES(out)
  ITEM(r)
  __global const float *x = values + r * width, *dy = behind + r * width;
  __global float* dx = out + r * width;
  const float share = 1.0f / (float)width, mean = kept[2 * r], factor = kept[2 * r + 1];
  float sum, along;
  LANE_SUM(float, sum, width, i, dy[i] * weight[i])
  sum *= share;
  LANE_SUM(float, along, width, i, dy[i] * weight[i] * ((x[i] - mean) * factor))
  along *= share;
  for (ulong i = 0; i < width; ++i)
    dx[i] = factor * (dy[i] * weight[i] - sum - (x[i] - mean) * factor * along);
}

__kernel void norm_gradient(const ulong n, IN(x), IN(kept), IN(dy), OUT(weight), OUT(bias), const ulong rows) {
  READS(x) READS(kept) READS(dy) WRITES(weight) WRITES(bias)
  ITEM(i)
  float of_weight = 0, of_bias = 0;
  for (ulong r = 0; r < rows; ++r) {
    const float value = dy[r * n + i];
    of_weight += value * ((x[r * n + i] - kept[2 * r]) * kept[2 * r + 1]);
    of_bias += value;
  }
  weight[i] = of_weight;
  bias[i] = of_bias;
}
