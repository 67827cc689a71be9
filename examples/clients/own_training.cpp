// A client with a training of its own: it fits the server's linear model y = w x + b to its rows by a loop that Troupe does
// not know, a few passes of stochastic gradient descent with a penalty that only this client has.
//
//   own_training HOST:PORT FILE NAME
//
// FILE is a CSV file with a header; its last column is the target, the others stand as the server has them. The server's job
// has model.kind = "linear-regression" and data that are not standardised: P = F + 1 parameters, w and then b.

#include <troupe/client.hpp>
#include <troupe/data.hpp>

#include <cstddef>
#include <iostream>
#include <span>

namespace {

constexpr int passes = 3;
constexpr float rate = 0.02f;
constexpr float penalty = 0.001f;

troupe::own_update train(const troupe::dataset& rows, const troupe::own_order& order) {
  troupe::own_update result;
  result.values.assign(order.start.begin(), order.start.end());
  const auto w = std::span{result.values}.first(rows.feature_count);
  float& b = result.values.back();
  for (int pass = 0; pass < passes && !order.stop_requested(); ++pass) {
    result.loss = 0;
    for (size_t i = 0; i < rows.row_count; ++i) {
      const auto x = rows.row(i);
      float error = b - rows.targets[i];
      for (size_t j = 0; j < w.size(); ++j)
        error += w[j] * x[j];
      result.loss += error * error;
      for (size_t j = 0; j < w.size(); ++j)
        w[j] -= rate * (error * x[j] + penalty * w[j]);
      b -= rate * error;
    }
  }
  result.rows = rows.row_count;
  result.loss /= static_cast<double>(rows.row_count);
  return result;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: own_training HOST:PORT FILE NAME\n";
    return 2;
  }
  try {
    const auto rows = troupe::to_dataset(troupe::read_csv(argv[2]), troupe::target_use::numbers);
    troupe::client_options options;
    options.server = argv[1];
    options.name = argv[3];
    options.say = [](const std::string& text) { std::cerr << text << '\n'; };
    troupe::federated_client client{options};
    client.train_by([&](const troupe::own_order& order) { return train(rows, order); });
    client.run();
    return 0;
  } catch (const troupe::failure& problem) {
    std::cerr << problem.what() << '\n';
    return static_cast<int>(problem.code());
  }
}
