__attribute__((amdgpu_kernel, visibility("protected"))) void nothing(void) {}
