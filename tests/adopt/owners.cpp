// owners.cpp: scopes and modules that end by themselves, also when a usage error is thrown.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>
#include <kaeru/kaeru.hpp>

static void fail(const char *message)
{
    throw std::runtime_error(message);
}

static void scopes(int depth)
{
    kaeru::Scope scope(AG_NO_GRAD);
    if (depth > 1) scopes(depth - 1);
}

static void fill(const AgCustomCall *c)
{
    tensor_mutable_data(c->y)[0] = 1;
}

static void throw_in_rule(const AgCustomCall *)
{
    throw std::runtime_error("of the program");
}

// An exception of the program itself leaves a backward pass.
static void leave_a_pass(Tensor *w)
{
    static const AgCustom op = { "op", fill, throw_in_rule, AG_NEEDS_NONE, nullptr, nullptr };
    kaeru::Scope scope(AG_RECORD);
    ag_backward(ag_sum(ag_custom(&op, SHAPE(1), &w, 1, nullptr, 0)));
}

int main()
{
    ag_on_usage_error(fail);
    kaeru::Owner<Linear> layer(nn_linear_new(2, 1));
    kaeru::Owner<Optimizer> sgd(nn_sgd_new(layer.get(), 0.1));
    kaeru::OwnedTensor x;
    {
        kaeru::Scope scope(AG_NO_GRAD);
        x.reset(ag_keep(tensor_ones(SHAPE(3, 2))));
    }
    for (int step = 0; step < 3; step++) {
        kaeru::Scope scope(AG_RECORD);
        Tensor *y = nn_linear(layer.get(), x.get());
        ag_backward(ag_mean(ag_mul(y, y)));
        nn_optimizer_step(sgd.get());
    }
    size_t before = ag_memory().in_use;
    try {
        kaeru::Scope outer(AG_RECORD), inner(AG_NO_GRAD);
        nn_linear(layer.get(), tensor_ones(SHAPE(3, 5)));
        return 1;
    } catch (const std::runtime_error &error) {
        std::puts(error.what());
    }
    {
        kaeru::Owner<Linear> made;                  // inside a scope that the error unwinds; the owner lives longer
        kaeru::OwnedTensor kept, moved;
        std::vector<kaeru::Owner<Linear>> layers;
        try {
            kaeru::Scope inside(AG_RECORD);
            made.reset(nn_linear_new(2, 3));
            layers.emplace_back(nn_linear_new(2, 3));
            layers.push_back(kaeru::Owner<Linear>(nn_linear_new(3, 1)));
            kept.reset(ag_keep(tensor_ones(SHAPE(3, 2))));
            nn_linear(made.get(), tensor_ones(SHAPE(3, 5)));
            return 1;
        } catch (const std::runtime_error &) {
        }
        moved = std::move(kept);
        kaeru::OwnedTensor again = std::unique_ptr<Tensor, kaeru::FreeTensor>(ag_keep(moved.get()));
        try {
            kaeru::Scope inside(AG_NO_GRAD);
            kaeru::OwnedTensor wrong(tensor_ones(SHAPE(2)));
            return 1;
        } catch (const std::runtime_error &error) {
            if (!std::strstr(error.what(), "owners.cpp:")) return 1;
        }
        kept = nullptr;
        kaeru::Scope after(AG_NO_GRAD);
        nn_linear(made.get(), moved.get());
    }
    if (ag_memory().in_use != before) return 1;
    try {
        leave_a_pass(layer->weight);
        return 1;
    } catch (const std::runtime_error &error) {
        if (std::strcmp(error.what(), "of the program") != 0) return 1;
    }
    nn_zero_grad(layer.get());
    try {
        kaeru::Owner<Tensor> part(layer->weight);
        return 1;
    } catch (const std::runtime_error &error) {
        if (!std::strstr(error.what(), "this is a part of a Linear, which frees it (at ")) return 1;
    }
    try {
        scopes(1000);
        return 1;
    } catch (const std::runtime_error &error) {     // names the line that begins the scope
        if (!std::strstr(error.what(), "owners.cpp:")) return 1;
    }
    kaeru::Scope scope(AG_NO_GRAD);
    return ag_memory().in_use == before ? 0 : 1;
}
