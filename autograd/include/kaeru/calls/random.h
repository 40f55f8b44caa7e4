/* calls/random.h: calls of the functions of random.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL_VOID(ag_seed, (AG_PLACE, uint64_t seed), (seed))
#define ag_seed(...) ag_seed_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(AgRandom, ag_random_state, (AG_PLACE), ())
#define ag_random_state() ag_random_state_call(__FILE__, __LINE__)
AG_NAME_CALL_VOID(ag_set_random_state, (AG_PLACE, AgRandom state), (state))
#define ag_set_random_state(...) ag_set_random_state_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(uint32_t, ag_random_u32, (AG_PLACE), ())
#define ag_random_u32() ag_random_u32_call(__FILE__, __LINE__)
AG_NAME_CALL(double, ag_random_uniform, (AG_PLACE), ())
#define ag_random_uniform() ag_random_uniform_call(__FILE__, __LINE__)
AG_NAME_CALL(int64_t, ag_random_below, (AG_PLACE, int64_t n), (n))
#define ag_random_below(...) ag_random_below_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_random_permutation, (AG_PLACE, int64_t n, int32_t *out), (n, out))
#define ag_random_permutation(...) ag_random_permutation_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
