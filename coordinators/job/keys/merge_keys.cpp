// Section merge: how the models of members or clients become one.

#include "coordinators/job/keys/job_keys.hpp"
#include "coordinators/job/keys/key_limits.hpp"
#include "coordinators/job/training_modes.hpp"

namespace troupe {

namespace {

using merge_keys = key_section<job, merge_section>;

void add_rule(const merge_keys& merge) {
  using x = merge_options;
  auto members = merge.within(&merge_section::members);
  members.add("rule", &x::rule, std::make_shared<choice_type<merge_rule>>(merge_rules_of_jobs()),
              "parameters, federated: how the models become one");
  members.add("weighting", &x::weighting,
              std::make_shared<choice_type<merge_weighting>>(merge_weightings_of_jobs()),
              "weighted, geometric-median, and clients in a group: by rows trained on, or equal");
  members.add("trimmed_count", &x::trimmed_count, within(0, slices_max),
              "trimmed-mean: values left out at each end");
  members.add("faulty_count", &x::faulty_count, within(0, slices_max),
              "krum, multi-krum: members that may hand in anything");
  members.add("kept_count", &x::kept_count, within(0, slices_max),
              "multi-krum: models averaged; 0: members - faulty_count - 2");
}

void add_outer(const merge_keys& merge) {
  using x = outer_options;
  auto outer = merge.within(&merge_section::outer);
  outer.add("outer", &x::kind, "how the main model moves towards the merged one");
  outer.add("outer_rate", &x::learning_rate, above(0),
            {"share of the way the main model goes", "sgd: 1; adam, yogi: 0.01",
             "use a number such as 0.7"});
  outer.add("outer_momentum", &x::momentum, from_to_below(0, 1),
            {"sgd: 0 is none", "", "use a number such as 0.9"});
  outer.add("outer_nesterov", &x::nesterov,
            "sgd: looks ahead along the momentum, which must not be 0");
}

void add_averaging(const merge_keys& merge) {
  using x = averaging_options;
  auto averaging = merge.within(&merge_section::averaging);
  averaging.add("averaging", &x::kind,
                "of the main models that rounds ended with, for evaluation and as the result");
  averaging.add("averaging_decay", &x::decay, from_to_below(0, 1),
                {"exponential: a round counts this share of the one after it", "",
                 "use a number such as 0.99"});
}

} // namespace

void add_merge_keys(job_key_rows& out) {
  using x = merge_section;
  merge_keys merge{out, "merge", &job::merge};
  add_rule(merge);
  merge.add("elastic_alpha", &x::elastic_alpha, option_range{0, 1, true, false, {}},
            {"elastic averaging in place of rule and outer: members keep models of "
             "their own and are drawn to the centre by this share",
             "off", "use a number such as 0.9 divided by the members"});
  add_outer(merge);
  add_averaging(merge);
  merge.add("flipped_members", &x::flipped_members, within(0, clients_max),
            "rehearsal of faults: the last members or clients hand in their update reversed");
  merge.add("flip_factor", &x::flip_factor, above(0),
            {"rehearsal of faults: and so many times as long", "", "use a number such as 10"});
}

} // namespace troupe
