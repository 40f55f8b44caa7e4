/* absent.c: functions of parts that this build leaves out. A test that calls one of them is left out, too; run_tests.c counts
 * these tests. A suite that is about a part is not in such a build at all: suite_parts in meson.build. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "kaeru/types.h"      /* for the names that functions have in libkaeru_double */

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
ABSENT(ag_graph_frame)
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

void ag_find_nan_alone(bool on);
void ag_find_nan_alone(bool on)
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

#ifdef WITHOUT_LM
ABSENT(lm_generate)
#endif

#ifdef WITHOUT_LORA
ABSENT(nn_lora_add)
ABSENT(nn_lora_merge)
#endif

#ifdef WITHOUT_MEMORY
ABSENT(large_trim)
#endif

#ifdef WITHOUT_MODEL_FILES
ABSENT(gpt_load)
ABSENT(gpt_open)
ABSENT(gpt_write)
ABSENT(transformer_load)
ABSENT(transformer_to_settings)
#endif

#ifdef WITHOUT_HIGHER
ABSENT(ag_grad_recorded)
ABSENT(ag_jvp)
#endif

#ifdef WITHOUT_MORE
ABSENT(ag_abs)
ABSENT(ag_add_to)
ABSENT(ag_all)
ABSENT(ag_any)
ABSENT(ag_argmax)
ABSENT(ag_batch_ids)
ABSENT(ag_binary_cross_entropy)
ABSENT(ag_clamp)
ABSENT(ag_concat)
ABSENT(ag_conv2d)
ABSENT(ag_conv2d_with)
ABSENT(ag_conv_transpose2d)
ABSENT(ag_cos)
ABSENT(ag_cumsum)
ABSENT(ag_elu)
ABSENT(ag_erf)
ABSENT(ag_expand)
ABSENT(ag_flip)
ABSENT(ag_gather)
ABSENT(ag_grad)
ABSENT(ag_index_add)
ABSENT(ag_index_select)
ABSENT(ag_int_add)
ABSENT(ag_int_mul)
ABSENT(ag_interpolate2d)
ABSENT(ag_kl_div)
ABSENT(ag_leaky_relu)
ABSENT(ag_log_sigmoid)
ABSENT(ag_logaddexp)
ABSENT(ag_logsumexp)
ABSENT(ag_masked_fill)
ABSENT(ag_max)
ABSENT(ag_max_dim)
ABSENT(ag_max_pool2d)
ABSENT(ag_maximum)
ABSENT(ag_mean_pool2d)
ABSENT(ag_min_dim)
ABSENT(ag_minimum)
ABSENT(ag_mul_scalar)
ABSENT(ag_multinomial)
ABSENT(ag_nll_loss)
ABSENT(ag_nonzero)
ABSENT(ag_norm_dims)
ABSENT(ag_normalize)
ABSENT(ag_one_hot)
ABSENT(ag_pad)
ABSENT(ag_pad_with)
ABSENT(ag_pow)
ABSENT(ag_pow_scalar)
ABSENT(ag_rms_norm)
ABSENT(ag_rope)
ABSENT(ag_rope_frequencies)
ABSENT(ag_rope_table)
ABSENT(ag_scatter_add)
ABSENT(ag_scatter_max)
ABSENT(ag_select)
ABSENT(ag_sign)
ABSENT(ag_sin)
ABSENT(ag_softplus)
ABSENT(ag_sort)
ABSENT(ag_sum_squares)
ABSENT(ag_topk)
ABSENT(ag_unbind)
ABSENT(ag_var_dims)
ABSENT(ag_watch_backward)
ABSENT(ag_where)
ABSENT(k_max)
ABSENT(k_normalize)
ABSENT(k_patches)
ABSENT(k_patches_add)
ABSENT(k_rms_norm)
ABSENT(k_rms_norm_backward)
ABSENT(k_rope)
ABSENT(k_var)
ABSENT(tensor_hash)
ABSENT(tensor_int_arange)
ABSENT(tensor_int_full)

extern int64_t most_logits;
int64_t most_logits;
#endif

#ifdef WITHOUT_MORE_NN
ABSENT(nn_batch_norm)
ABSENT(nn_batch_norm_new_with)
ABSENT(nn_cache_keep_last)
ABSENT(nn_cache_select)
ABSENT(nn_clone)
ABSENT(nn_conv2d)
ABSENT(nn_conv2d_new_how)
ABSENT(nn_conv2d_new_with)
ABSENT(nn_conv_transpose2d)
ABSENT(nn_conv_transpose2d_new_with)
ABSENT(nn_ema_update)
ABSENT(nn_freeze_bf16)
ABSENT(nn_group_norm)
ABSENT(nn_group_norm_new_with)
ABSENT(nn_mask_print)
ABSENT(nn_pack_weights)
ABSENT(nn_recurrent)
ABSENT(nn_recurrent_new_with)
ABSENT(nn_rms_norm)
ABSENT(nn_rms_norm_new_with)
ABSENT(nn_muon_new)
ABSENT(nn_muon_new_with)
ABSENT(nn_parameters_to_vector)
ABSENT(nn_gradients_to_vector)
ABSENT(nn_rmsprop_new_with)
ABSENT(nn_vector_to_parameters)
ABSENT(nn_summary)
#endif

#ifdef WITHOUT_OPTIONS
ABSENT(nn_fields_from_settings)
ABSENT(nn_fields_to_settings)
ABSENT(nn_options_print)
ABSENT(nn_options_read)
ABSENT(nn_settings_get)
ABSENT(nn_settings_new)
ABSENT(nn_settings_set)
#endif

#ifdef WITHOUT_PARALLEL
ABSENT(nn_parallel_new_with)
ABSENT(nn_parallel_shard)
ABSENT(nn_parallel_step)
#endif

#ifdef WITHOUT_TRAIN
ABSENT(evaluation_begin)
ABSENT(transformer_batch_new)
ABSENT(transformer_greedy_decode)
ABSENT(transformer_run_epoch)
#endif
