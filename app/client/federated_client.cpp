#include "app/client/federated_client.hpp"

#include "actors/net/clients/frame_line.hpp"
#include "actors/net/socket/dial.hpp"
#include "app/client/client_model.hpp"
#include "coordinators/links/dial_clock.hpp"
#include "data/disk/open_file.hpp"
#include "data/identity/arithmetic_check.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "data/training_rows/row_table.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

using namespace std::chrono_literals;

constexpr milliseconds answer_time{10s};
/// A connection that lasted so long ends a row of failures.
constexpr milliseconds steady_after{10s};
/// Longer than the server's pings are apart: a server of which nothing is heard is gone.
constexpr milliseconds silence_max{100s};
/// What a server says is checked: no model is larger.
constexpr uint64_t parameters_max = uint64_t{1} << 40;
/// So long is for ever, and sums of it do not overflow.
constexpr milliseconds patience_max{std::chrono::hours{24 * 10'000}};
constexpr milliseconds shortest_delay{100};
constexpr milliseconds longest_delay{60s};

const dialled_peer server_of_run{"the server", "check the address that follows 'troupe client'",
                                 "is the server running? It may be behind a firewall",
                                 "authority (--ca)", "the server"};

moment clock_now() {
  return std::chrono::steady_clock::now();
}

/// Many clients that lost one server do not come back at one time.
milliseconds with_jitter(moment::duration delay) {
  return std::chrono::ceil<milliseconds>(
    delay / 2 * (1 + static_cast<double>(random_number() >> 11) * 0x1p-53));
}

std::string name_for(const client_options& options, const client_source& rows) {
  if (!options.name.empty())
    return options.name;
  if (options.tls) {
    const auto& path = options.tls->certificate;
    const auto facts = read_certificate(read_unchanged_file(path), path);
    if (!facts.names.empty())
      return facts.names.front();
  }
  if (rows.make)
    return {};
  const auto file = std::filesystem::path{rows.path}.filename().string();
  return file.substr(0, file.find('.'));
}

void require_client_name(const std::string& x) {
  const bool is_one = !x.empty() && x.size() <= certificate_name_bytes_max &&
                      std::ranges::all_of(x, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (!is_one)
    throw failure(failure_code::usage,
                  shown_text(x) + " is no client's name: 1 to 63 letters without spaces", {},
                  "give one: name of the client's options or settings, --name of the command");
}

std::string receipt_words(receipt_kind what) {
  switch (what) {
  case receipt_kind::counted:
    return "the update counts";
  case receipt_kind::not_finite:
    return "the update was refused: a value is not finite";
  case receipt_kind::out_of_range:
    return "the update was refused: a parameter changed by more than federated.update_range";
  case receipt_kind::surplus:
    return "enough other clients were faster";
  case receipt_kind::late:
    return "the update came too late";
  case receipt_kind::stale:
    return "the update is of an attempt that is over";
  case receipt_kind::altered:
    return "the update was refused: it is not the one that was announced";
  }
  return "an answer of a newer server";
}

void require_function(bool is_one) {
  if (!is_one)
    throw failure(failure_code::usage, "a client was given an empty function", {},
                  "give one that makes rows, or that trains");
}

failure_code code_of(uint64_t x) {
  for (const auto& [code, name] : name_table<failure_code>::entries)
    if (static_cast<uint64_t>(code) == x)
      return code;
  return failure_code::mismatch;
}

} // namespace

class federated_client::conversation {
public:
  explicit conversation(const client_options& options)
    : options_(options),
      patience_(std::min(options.patience, patience_max)),
      where_(parse_endpoint(options.server)),
      waker_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      training_([this] { wake(); }) {
    if (!options.name.empty())
      require_client_name(options.name);
    if (!waker_)
      throw std::system_error{errno, std::generic_category(), "eventfd"};
    if (options.tls)
      security_ = dial_security{*options.tls,
                                options.server_name.empty() ? where_.host : options.server_name};
  }

  void use(client_source rows, own_training train);
  client_table table();
  void run();
  void stop() {
    is_stopping_ = true;
    wake();
  }

private:
  void wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(waker_.get(), &one, sizeof one);
  }
  void say(const std::string& text) const {
    if (options_.say)
      options_.say(text);
  }
  void take_part();
  void talk(frame_line& line);
  void pause(moment until);
  void on_frame(frame_line& line, const client_frame& x);
  void on_plan(frame_line& line, const client_frame& x);
  void follow(const std::string& reading, const std::string& job_text, uint64_t parameter_count);
  void on_order(frame_line& line, const client_frame& x);
  void on_receipt(const client_frame& x);
  void send_update(frame_line& line, const client_frame& x);
  void announce(frame_line& line) const;

  client_options options_;
  milliseconds patience_;
  endpoint where_;
  client_source rows_;
  own_training own_training_;
  std::string name_;
  owned_socket waker_;
  std::optional<dial_security> security_;
  std::atomic<bool> is_stopping_ = false;
  bool is_over_ = false;
  moment served_{};             ///< when a server said last what to do
  milliseconds asked_delay_{0}; ///< by the server
  bool wants_table_ = false;    ///< alone: the client does not take part
  client_table table_;
  std::string plan_hash_;             ///< of what is computed; empty: nothing yet
  std::optional<client_model> model_; ///< none: the application trains
  client_computation compute_;
  client_training training_; ///< goes before the model
  std::optional<computed_update> computed_;
};

void federated_client::conversation::use(client_source rows, own_training train) {
  rows_ = std::move(rows);
  own_training_ = std::move(train);
  plan_hash_.clear();
}

client_table federated_client::conversation::table() {
  wants_table_ = true;
  table_ = {};
  take_part();
  if (table_.parameter_count == 0 && !is_stopping_)
    throw failure(failure_code::unavailable, "the run of the server has ended", to_string(where_));
  return table_;
}

void federated_client::conversation::run() {
  require_arithmetic();
  if (rows_.path.empty() && !own_training_)
    throw failure(failure_code::usage, "the client has neither rows nor a training of its own", {},
                  "call use_file, use_rows or train_by before run");
  if (std::error_code ignored;
      !rows_.make && !own_training_ && !std::filesystem::exists(rows_.path, ignored))
    throw failure(failure_code::missing_input, "there is no such file", rows_.path,
                  "name the file of the client's rows: --data FILE");
  wants_table_ = false;
  struct until_here {
    client_training& training;
    ~until_here() { training.cancel(); } // the application may take back what its training uses
  } const ends{training_};
  take_part();
}

void federated_client::conversation::take_part() {
  require_client_name(name_ = name_for(options_, rows_));
  is_over_ = false;
  asked_delay_ = 0ms;
  dial_clock clock{shortest_delay, longest_delay};
  served_ = clock_now();
  while (!is_stopping_ && !is_over_) {
    std::string problem;
    const auto begun = clock_now();
    std::optional<frame_line> line;
    try {
      line.emplace(dial(where_, server_of_run, answer_time, security_), false);
    } catch (const failure& error) {
      const bool is_away = error.code() == failure_code::unavailable ||
                           (!plan_hash_.empty() && error.code() == failure_code::missing_input);
      if (!is_away || is_over_ || clock_now() - served_ >= patience_)
        throw;
      problem = error.reason();
    }
    if (line) {
      talk(*line);
      problem = line->problem();
      if (clock_now() - begun >= steady_after)
        clock.on_opened();
    }
    if (is_stopping_ || is_over_)
      return;
    const auto now = clock_now();
    if (now - served_ >= patience_)
      server_of_run.throw_silent(where_, problem);
    if (!problem.empty() && !clock.failing_since())
      say((plan_hash_.empty() ? "dials again: " : "lost the server, and dials again: ") + problem);
    clock.on_failed(now);
    pause(now + std::max(std::exchange(asked_delay_, 0ms), with_jitter(*clock.due() - now)));
  }
}

void federated_client::conversation::pause(moment until) {
  while (!is_stopping_) {
    const auto left = std::chrono::ceil<milliseconds>(until - clock_now());
    pollfd ready{waker_.get(), POLLIN, 0};
    if (left <= 0ms || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0)
      return;
    uint64_t calls = 0;
    [[maybe_unused]] const auto count = ::read(waker_.get(), &calls, sizeof calls);
    if (auto done = training_.take())
      computed_ = std::move(done);
  }
}

void federated_client::conversation::talk(frame_line& line) {
  const auto known = wants_table_ ? std::string{} : plan_hash_;
  line.send({client_frame_kind::report, {client_protocol_number}, {name_, known}});
  auto heard = clock_now();
  uint64_t moved = 0;     // bytes, both ways
  bool is_served = false; // it was told what to do
  while (!is_stopping_ && !is_over_ && asked_delay_ == 0ms) {
    while (const auto next = line.read()) {
      heard = clock_now();
      is_served = is_served || next->kind == client_frame_kind::plan;
      served_ = is_served ? heard : served_;
      on_frame(line, *next);
    }
    if (const auto by_now = line.bytes_read() + line.bytes_written(); by_now > moved) {
      moved = by_now;
      heard = clock_now();
    }
    if (line.was_refused() && !is_served)
      server_of_run.throw_unsecured(where_, {0, true, line.problem(), true});
    if (line.is_over() || is_over_ || clock_now() - heard >= silence_max)
      return;
    std::array<pollfd, 2> ready{
      pollfd{line.socket().descriptor(),
             static_cast<short>(line.wants_to_write() ? POLLIN | POLLOUT : POLLIN), 0},
      pollfd{waker_.get(), POLLIN, 0}};
    ::poll(ready.data(), ready.size(), 1'000);
    uint64_t calls = 0;
    [[maybe_unused]] const auto count = ::read(waker_.get(), &calls, sizeof calls);
    line.flush();
    if (auto done = training_.take()) {
      computed_ = std::move(done);
      announce(line);
    }
  }
}

void federated_client::conversation::on_frame(frame_line& line, const client_frame& x) {
  switch (x.kind) {
  case client_frame_kind::ping:
    return line.send({client_frame_kind::ping});
  case client_frame_kind::plan:
    return on_plan(line, x);
  case client_frame_kind::order:
    return on_order(line, x);
  case client_frame_kind::send:
    return send_update(line, x);
  case client_frame_kind::receipt:
    return on_receipt(x);
  case client_frame_kind::wait:
    asked_delay_ = milliseconds{std::clamp<uint64_t>(x.numbers[0], 1, 600'000)};
    return say("the server asks to wait: " + printable_text(x.texts[0]));
  case client_frame_kind::over:
    is_over_ = true;
    if (x.numbers[0] != 0)
      throw failure(code_of(x.numbers[0]), printable_text(x.texts[0]), to_string(where_));
    return say(printable_text(x.texts[0]));
  default:
    return; // a client's own, which do not come (frame_line.hpp)
  }
}

void federated_client::conversation::on_plan(frame_line& line, const client_frame& x) {
  if (x.numbers[0] != client_protocol_number)
    throw failure(failure_code::mismatch,
                  "the server speaks version " + std::to_string(x.numbers[0]) +
                    " of the clients' protocol, this client version " +
                    std::to_string(client_protocol_number),
                  to_string(where_));
  if (x.numbers[1] == 0 || x.numbers[1] > parameters_max)
    throw failure(failure_code::mismatch,
                  "the server's model has " + std::to_string(x.numbers[1]) + " parameters",
                  to_string(where_), "use the program of one version");
  const auto& [reading, job_text] = x.texts;
  if (wants_table_) {
    table_ = {x.numbers[1], reading_of(reading, to_string(where_)).form};
    is_over_ = true;
    return;
  }
  if (!reading.empty() || !job_text.empty())
    follow(reading, job_text, x.numbers[1]);
  if (plan_hash_.empty() || (model_ && model_->parameter_count() != x.numbers[1]))
    throw failure(failure_code::mismatch,
                  "the server's model has " + std::to_string(x.numbers[1]) +
                    " parameters, and this program's another number",
                  to_string(where_), "use the program of one version");
  line.set_value_count(x.numbers[1]);
  line.send({client_frame_kind::here});
}

void federated_client::conversation::follow(const std::string& reading, const std::string& job_text,
                                            uint64_t parameter_count) {
  training_.cancel();
  computed_.reset();
  plan_hash_.clear();
  if (own_training_) {
    model_.reset();
    compute_ = own_computation(own_training_, parameter_count);
    say(name_ + " is here with a training of its own");
  } else {
    model_.emplace(reading, job_text, rows_);
    compute_ = [this, key = static_cast<uint32_t>(client_key_of(name_))](
                 const order_name& order, const const_buffer& start,
                 const std::function<bool()>& stop) {
      return model_->train(order, start, key, stop);
    };
    say(name_ + " is here with " + std::to_string(model_->row_count()) + " rows");
  }
  const auto both = reading + job_text;
  plan_hash_ = sha256_hex(std::as_bytes(std::span{both}));
}

void federated_client::conversation::on_order(frame_line& line, const client_frame& x) {
  const order_name order{x.numbers[0], x.numbers[1]};
  if (plan_hash_.empty() || training_.order() == order)
    return;
  if (computed_ && computed_->order == order)
    return announce(line);
  computed_.reset();
  training_.begin(compute_, order, x.values);
}

void federated_client::conversation::announce(frame_line& line) const {
  const auto& [round, term] = computed_->order;
  line.send({client_frame_kind::ready, {round, term}, {computed_->digest}});
}

void federated_client::conversation::send_update(frame_line& line, const client_frame& x) {
  if (!computed_ || computed_->order != order_name{x.numbers[0], x.numbers[1]})
    return;
  const auto& [order, rows, loss, correct, digest, values] = *computed_;
  line.send({client_frame_kind::update,
             {order.round, order.term, rows, std::bit_cast<uint64_t>(loss), correct},
             {},
             values});
}

void federated_client::conversation::on_receipt(const client_frame& x) {
  if (computed_ && computed_->order == order_name{x.numbers[0], x.numbers[1]})
    computed_.reset();
  say("round " + std::to_string(x.numbers[0] + 1) + ": " +
      receipt_words(static_cast<receipt_kind>(x.numbers[2])));
}

federated_client::federated_client(const client_options& options)
  : conversation_(std::make_unique<conversation>(options)) {}

federated_client::~federated_client() = default;

void federated_client::use_file(const std::string& path, std::vector<std::string> sets) {
  conversation_->use({path, std::move(sets), {}}, {});
}

void federated_client::use_rows(row_maker make) {
  require_function(make != nullptr);
  conversation_->use({"the application's rows", {}, std::move(make)}, {});
}

void federated_client::use_rows(dataset rows) {
  use_rows([rows = std::move(rows)](const dataset&) { return rows; });
}

void federated_client::train_by(own_training train) {
  require_function(train != nullptr);
  conversation_->use({}, std::move(train));
}

client_table federated_client::table() {
  return conversation_->table();
}

void federated_client::run() {
  conversation_->run();
}

void federated_client::stop() {
  conversation_->stop();
}

} // namespace troupe
