# Installs the program and the libraries without `cli`, and exports them for find_package(Placewright).
# What includes LibTorch is installed as the one library that the program opens, beside its bin.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY PLACEWRIGHT_MODULES)
list(REMOVE_ITEM modules placewright_cli)
install(TARGETS ${modules} EXPORT PlacewrightTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS placewright check_plan RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/placewright
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN cli EXCLUDE PATTERN capture EXCLUDE
  PATTERN torch_library EXCLUDE)
if(PLACEWRIGHT_WITH_TORCH)
  install(TARGETS placewright_torch LIBRARY DESTINATION lib/placewright)
endif()
install(PROGRAMS python/placewright_export.py DESTINATION ${CMAKE_INSTALL_DATADIR}/placewright/python)
install(DIRECTORY python/placewright_torch
  DESTINATION ${CMAKE_INSTALL_DATADIR}/placewright/python FILES_MATCHING PATTERN "*.py")

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Placewright)
install(EXPORT PlacewrightTargets NAMESPACE Placewright:: DESTINATION ${config_folder})
configure_package_config_file(cmake/PlacewrightConfig.cmake.in
  ${PROJECT_BINARY_DIR}/PlacewrightConfig.cmake INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/PlacewrightConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/PlacewrightConfig.cmake
  ${PROJECT_BINARY_DIR}/PlacewrightConfigVersion.cmake cmake/FindLibOnnx.cmake
  cmake/FindMetis.cmake cmake/FindScotch.cmake DESTINATION ${config_folder})
