#include "actors/tasks/decision_record.hpp"

#include "data/text/failure.hpp"

#include <cstdio>

namespace troupe {

void decision_record::attempt(const std::function<void()>& what) {
  try {
    what();
  } catch (const failure& error) {
    out_.reset();
    std::remove(path_.c_str()); // half a record would repeat another run
    problem_ = std::string{error.what()} + "; this run cannot be repeated with --replay";
  }
}

void decision_record::begin(const std::string& path, uint64_t version) {
  path_ = path;
  out_.reset();
  if (!path.empty())
    attempt([&] { out_.emplace(path, version); });
}

void decision_record::add(const sequence_entry& entry) {
  using enum decision_kind;
  if (!out_ || entry.evaluates)
    return;
  recorded_decision line{close, entry.number, entry.step, entry.step_scale};
  switch (entry.kind) {
  case entry_kind::give:
    line.kind = give;
    break;
  case entry_kind::take:
    line.kind = take;
    break;
  case entry_kind::drop:
    line.kind = entry.is_late ? late : drop;
    break;
  case entry_kind::close:
    line.kind = entry.is_late ? loss : close;
    break;
  case entry_kind::pass:
    line = {pass, entry.step};
    break;
  case entry_kind::mark:
    return;
  }
  out_->add(line);
}

void decision_record::flush() {
  if (out_)
    attempt([&] { out_->flush(); });
}

} // namespace troupe
