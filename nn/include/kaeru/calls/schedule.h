/* calls/schedule.h: calls of the functions of schedule.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(double, nn_schedule_cosine, (AG_PLACE, int64_t step, double lr, double lr_min, int64_t warmup, int64_t total),
    (step, lr, lr_min, warmup, total))
#define nn_schedule_cosine(...) nn_schedule_cosine_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(double, nn_schedule_linear, (AG_PLACE, int64_t step, double lr, double lr_min, int64_t warmup, int64_t total),
    (step, lr, lr_min, warmup, total))
#define nn_schedule_linear(...) nn_schedule_linear_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(double, nn_schedule_step, (AG_PLACE, int64_t step, double lr, double factor, int64_t every),
    (step, lr, factor, every))
#define nn_schedule_step(...) nn_schedule_step_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(double, nn_schedule_noam, (AG_PLACE, int64_t step, int64_t width, double factor, int64_t warmup),
    (step, width, factor, warmup))
#define nn_schedule_noam(...) nn_schedule_noam_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
