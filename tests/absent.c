/* absent.c: functions of parts that this build leaves out. A test that calls one of them is left out, too; run_tests.c counts
 * these tests. A suite that is about a part is not in such a build at all: suite_parts in meson.build. */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* Ends the test, which has a process of its own. */
static _Noreturn void leave_out(const char *function)
{
    dprintf(2, "left out: this build has no %s\n", function);
    _exit(0);
}

#define ABSENT(function) \
    void function(void); \
    void function(void) \
    { \
        leave_out(__func__); \
    }

#ifdef WITHOUT_DEBUG
ABSENT(ag_explain)
ABSENT(ag_gradcheck)
ABSENT(ag_graph_dot)
ABSENT(ag_graph_frame)
ABSENT(ag_watch_backward)
ABSENT(tensor_fprint)

/* Off is what they always are. */
void ag_guard(bool on);
void ag_guard(bool on)
{
    if (on) leave_out(__func__);
}

void ag_find_nan(bool on);
void ag_find_nan(bool on)
{
    if (on) leave_out(__func__);
}
#endif

#ifdef WITHOUT_FILES
ABSENT(file_exists)
ABSENT(file_read)
ABSENT(file_read_bytes)
ABSENT(json_close)
ABSENT(json_get)
ABSENT(json_int)
ABSENT(json_is)
ABSENT(json_open)
ABSENT(json_put_int)
ABSENT(json_put_text)
ABSENT(json_read)
ABSENT(json_real)
ABSENT(json_writer)
ABSENT(json_written)
ABSENT(nn_average_checkpoints)
ABSENT(nn_checkpoint_load)
ABSENT(nn_checkpoint_save)
ABSENT(nn_load)
ABSENT(nn_load_with)
ABSENT(nn_save)
ABSENT(st_entry)
ABSENT(st_find)
ABSENT(st_open)
ABSENT(st_read)
ABSENT(st_write)
ABSENT(tensor_file_metadata)
#endif

#ifdef WITHOUT_LORA
ABSENT(nn_lora_add)
ABSENT(nn_lora_merge)
#endif

#ifdef WITHOUT_MODEL_FILES
ABSENT(gpt_load)
ABSENT(gpt_open)
ABSENT(gpt_write)
ABSENT(transformer_load)
ABSENT(transformer_to_settings)
#endif

#ifdef WITHOUT_MORE
ABSENT(ag_conv2d)
ABSENT(ag_conv2d_with)
ABSENT(ag_conv_transpose2d)
ABSENT(ag_custom)
ABSENT(ag_grad)
ABSENT(ag_interpolate2d)
ABSENT(ag_max_pool2d)
ABSENT(ag_mean_pool2d)
ABSENT(ag_pad)
ABSENT(ag_rope)
ABSENT(ag_rope_frequencies)
ABSENT(ag_rope_table)
ABSENT(ag_sort)
ABSENT(ag_topk)
ABSENT(nn_batch_norm)
ABSENT(nn_batch_norm_new_with)
ABSENT(nn_conv2d)
ABSENT(nn_conv2d_new_how)
ABSENT(nn_conv2d_new_with)
ABSENT(nn_conv_transpose2d)
ABSENT(nn_conv_transpose2d_new_with)
ABSENT(nn_group_norm)
ABSENT(nn_group_norm_new_with)
#endif

#ifdef WITHOUT_PARALLEL
ABSENT(nn_parallel_new_with)
ABSENT(nn_parallel_shard)
ABSENT(nn_parallel_step)
#endif

#ifdef WITHOUT_TRAIN
ABSENT(lm_generate)
ABSENT(transformer_batch_new)
ABSENT(transformer_greedy_decode)
ABSENT(transformer_run_epoch)
#endif
