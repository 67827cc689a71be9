// The predictor of saved_model.hpp.

#include "data/model_file/saved_model.hpp"

#include "data/identity/arithmetic_check.hpp"
#include "models/base/require.hpp"
#include "models/base/rounding.hpp"
#include "models/math/tree_accumulator.hpp"
#include "models/segments/segment_chain.hpp"

#include <algorithm>
#include <stdexcept>

namespace troupe {

namespace {

constexpr size_check require_size{"predictor"};

} // namespace

predictor::predictor(const saved_model& source) : source_(source) {
  require_arithmetic();
}

void predictor::require_rows(const batch& rows) const {
  if (rows.sparse.row_count() == 0)
    return require_size("features", rows.row_count * source_.network->feature_count(),
                        rows.features.size());
  require_size("sparse rows", rows.row_count, rows.sparse.row_count());
  if (!source_.network->chain().reads_sparse())
    throw std::invalid_argument("predictor: sparse rows for a model of dense ones");
}

void predictor::standardize_dense(batch& rows) {
  features_.assign(rows.features.begin(), rows.features.end());
  standardize(source_.features, features_);
  rows.features = features_;
}

void predictor::make_sparse(batch& rows) {
  const auto width = source_.network->feature_count();
  sparse_ = {{0}, {}, {}};
  for (size_t i = 0; i < rows.row_count; ++i) {
    for (size_t j = 0; j < width; ++j)
      if (const auto value = rows.features[i * width + j]; value != 0) {
        sparse_.features.push_back(static_cast<uint32_t>(j));
        sparse_.values.push_back(value);
      }
    sparse_.starts.push_back(sparse_.values.size());
  }
  rows.features = {};
  rows.sparse = sparse_.rows(0, rows.row_count);
}

void predictor::standardize_sparse(batch& rows) {
  if (rows.sparse.values != sparse_.values.data()) {
    sparse_matrix own{{0}, {}, {}};
    for (size_t i = 0; i < rows.row_count; ++i) {
      const auto features = rows.sparse.features_of(i);
      const auto values = rows.sparse.values_of(i);
      own.features.insert(own.features.end(), features.begin(), features.end());
      own.values.insert(own.values.end(), values.begin(), values.end());
      own.starts.push_back(own.values.size());
    }
    sparse_ = std::move(own);
    rows.sparse = sparse_.rows(0, rows.row_count);
  }
  standardize(source_.features, sparse_.features, sparse_.values);
}

batch predictor::chunk(const batch& rows, size_t begin, size_t count) {
  auto result = part_of(rows, begin, count);
  const bool sparse = source_.network->chain().reads_sparse();
  if (sparse && rows.sparse.row_count() == 0)
    make_sparse(result);
  if (!source_.features.empty() && sparse)
    standardize_sparse(result);
  if (!source_.features.empty() && !sparse)
    standardize_dense(result);
  return result;
}

void predictor::predict(std::span<const float> features, std::span<float> out) {
  batch rows;
  rows.row_count = features.size() / source_.network->feature_count();
  rows.features = features;
  predict(rows, out);
}

void predictor::predict(const batch& rows, std::span<float> out) {
  const default_rounding rounding;
  const auto& network = *source_.network;
  const auto columns = source_.prediction_count();
  require_rows(rows);
  require_size("predictions", rows.row_count * columns, out.size());
  for (size_t begin = 0; begin < rows.row_count; begin += prediction_chunk_rows) {
    const auto count = std::min(prediction_chunk_rows, rows.row_count - begin);
    const auto input = chunk(rows, begin, count);
    const auto target = out.subspan(begin * columns, count * columns);
    network.predict(source_.parameters.values(), input, target, memory_);
  }
}

batch_sums predictor::evaluate(const batch& rows) {
  const default_rounding rounding;
  const auto& network = *source_.network;
  require_rows(rows);
  tree_accumulator<batch_sums> sums;
  for (size_t begin = 0; begin < rows.row_count; begin += prediction_chunk_rows) {
    const auto part = chunk(rows, begin, std::min(prediction_chunk_rows, rows.row_count - begin));
    sums.push(network.evaluate(source_.parameters.values(), part, memory_));
  }
  return sums.total();
}

} // namespace troupe
