// A client of a federated run, without actors: nobody is there, and it says so.

#include <troupe/client.hpp>

#include <iostream>

int main() {
  troupe::client_options options;
  options.server = "127.0.0.1:1";
  options.name = "consumer";
  options.patience = {};
  troupe::federated_client client{options};
  client.train_by([](const troupe::own_order&) { return troupe::own_update{}; });
  try {
    client.run();
  } catch (const troupe::failure& problem) {
    std::cout << static_cast<int>(problem.code()) << '\n';
  }
}
