# Installs Troupe so that an application writes find_package(troupe) and links troupe::troupe.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(NOT TROUPE_INSTALL)
  return()
endif()

set(troupe_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/troupe)

install(TARGETS troupe EXPORT troupeTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY models data coordinators actors
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe FILES_MATCHING PATTERN *.hpp)
install(FILES ${PROJECT_BINARY_DIR}/include/troupe/version.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe)
if(TROUPE_BUILD_COMMAND)
  install(TARGETS troupe_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

install(EXPORT troupeTargets NAMESPACE troupe:: DESTINATION ${troupe_package_dir})
configure_package_config_file(cmake/troupeConfig.cmake.in ${PROJECT_BINARY_DIR}/troupeConfig.cmake
                              INSTALL_DESTINATION ${troupe_package_dir})
# Until 1.0 a change of the second number may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/troupeConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
# Debian's CAF has no package file of its own, so ours comes along.
install(FILES ${PROJECT_BINARY_DIR}/troupeConfig.cmake
              ${PROJECT_BINARY_DIR}/troupeConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindCAF.cmake
        DESTINATION ${troupe_package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
