# Whole clusters on one thread in virtual time, and the program that runs them by seed.
file(GLOB simulation_sources CONFIGURE_DEPENDS simulation/*.cpp)
list(FILTER simulation_sources EXCLUDE REGEX "(_test|/main)\\.cpp$")
add_library(troupe_simulated STATIC ${simulation_sources})
target_link_libraries(troupe_simulated PUBLIC troupe PRIVATE troupe_settings)
troupe_add_tests(simulation troupe_simulated)
add_executable(troupe_simulation simulation/main.cpp)
target_link_libraries(troupe_simulation PRIVATE troupe_simulated troupe_settings)
