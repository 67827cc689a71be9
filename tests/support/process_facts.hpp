// What processes of one cluster say of themselves: equal but for their names; "a" has the director.

#pragma once

#include "coordinators/links/admission.hpp"

#include <string>

namespace troupe::test {

inline process_facts facts_of(const std::string& name) {
  process_facts facts;
  facts.version = "1.0";
  facts.node = name;
  facts.is_director = name == "a";
  facts.data = "rows";
  facts.job = "job";
  facts.cluster = "files";
  facts.directive = "steps = 5";
  facts.arithmetic = "class";
  facts.process = "process of " + name;
  facts.life = name.front();
  return facts;
}

} // namespace troupe::test
