# Install rules: library, headers, CMake package (with aql_add_code_object), pkg-config file, tool.
include(CMakePackageConfigHelpers)

install(TARGETS aql EXPORT aqlTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/aql DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT aqlTargets NAMESPACE aql:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/aql)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/aqlConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/aqlConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/aql)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/aqlConfigVersion.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/aqlConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/aqlConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/AqlCodeObject.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/aql)

set(AQL_PC_REQUIRES_PRIVATE "")
if(AQL_STATIC)
  set(AQL_PC_REQUIRES_PRIVATE "spdlog fmt libzstd zlib")
endif()
# Relative to the .pc file, so that `cmake --install --prefix` and moved trees work.
file(RELATIVE_PATH AQL_PC_PREFIX /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
configure_file(${PROJECT_SOURCE_DIR}/cmake/aql.pc.in ${CMAKE_CURRENT_BINARY_DIR}/aql.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/aql.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET aql_tool)
  install(TARGETS aql_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET aql_vkfd)
  install(TARGETS aql_vkfd LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
