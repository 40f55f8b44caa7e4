// spiral.cpp: kaeru in C++11: the network of examples/spiral.c. A usage error becomes an exception.
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <kaeru/kaeru.h>

namespace {

struct Net { Module module; Linear *hidden, *out; };

Net *net_new(int width)
{
    Net *n = nn_new(Net);
    nn_child(n, hidden, nn_linear_new(2, width));
    nn_child(n, out, nn_linear_new(width, 2));
    return n;
}

Tensor *net(Net *n, Tensor *x) { return nn_linear(n->out, ag_tanh(nn_linear(n->hidden, x))); }

// A scope of C++ is one of kaeru.
class Block {
public:
    explicit Block(AgMode mode) : scope(ag_begin(mode)) {}
    ~Block() { ag_end(scope); }
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;
private:
    AgScope scope;
};

struct Points { std::vector<ag_real> x; std::vector<int32_t> arm; };

Points draw_points(int n)
{
    Points p;
    for (int i = 0; i < n; i++) {
        double radius = 0.1 + 0.9 * ag_random_uniform(), angle = 6 * radius + 3.14159265 * (i % 2);
        p.x.push_back(static_cast<ag_real>(radius * std::cos(angle)));
        p.x.push_back(static_cast<ag_real>(radius * std::sin(angle)));
        p.arm.push_back(i % 2);
    }
    return p;
}

double train_step(Net *model, Optimizer *adam)
{
    Block step(AG_RECORD);
    Points p = draw_points(400);
    Tensor *x = tensor_from(SHAPE(p.arm.size(), 2), p.x.data()), *arm = tensor_ints(SHAPE(p.arm.size()), p.arm.data());
    Tensor *loss = nn_cross_entropy(net(model, x), arm);
    ag_backward(loss);
    nn_optimizer_step(adam);
    return tensor_item(loss);
}

double share_right(Net *model)
{
    Block no_grad(AG_NO_GRAD);
    Points p = draw_points(400);
    Tensor *scores = net(model, tensor_from(SHAPE(400, 2), p.x.data()));
    Tensor *right = ag_compare(AG_EQ, ag_argmax(scores, -1, false), tensor_ints(SHAPE(400), p.arm.data()));
    return tensor_item(ag_mean(ag_where(right, tensor_ones(AG_SCALAR), tensor_zeros(AG_SCALAR))));
}

void check(bool good, const char *what)
{
    if (!good) throw std::runtime_error(std::string(what) + ": " + ag_error());
}

// The messages of usage errors have the line of the call. Each form that C writes as a compound literal exists.
void try_errors_and_lists(Net *model)
{
    Block block(AG_RECORD);
    int64_t rows = 3;
    Tensor *x = tensor_zeros(SHAPE(rows, 5));
    std::string message;
    try {
        Block inner(AG_RECORD);
        net(model, x);
    } catch (const std::runtime_error &error) {
        message = error.what();
    }
    check(message.find("spiral.cpp:") != std::string::npos, "no exception");
    Tensor *sum = ag_sum_dims(x, DIMS(0, -1), false);
    check(tensor_ndim(sum) == 0 && tensor_item(sum) == 0, "DIMS");
    ag_free(nn_sgd_new(model, 0.1));
    ag_free(nn_layer_norm_new_kind(4, AG_NORM_STD));
    check(tensor_save("two.npz", { "x", x }, { "sum", sum }), "tensor_save");
    check(ag_shape_equal(tensor_shape(tensor_load("two.npz", "x")), SHAPE(3, 5)), "tensor_load");
}

}

int main()
{
    ag_on_usage_error([](const char *message) { throw std::runtime_error(message); });
    Net *model = net_new(64), *copy = net_new(64);
    Optimizer *adam = nn_adam_new(model, 0.02);
    for (int step = 0; step <= 500; step++) {
        double loss = train_step(model, adam);
        if (step % 100 == 0) std::printf("step %3d: loss %.4f\n", step, loss);
    }
    int status = 1;
    try {
        try_errors_and_lists(model);
        check(nn_save("spiral.safetensors", model) && nn_load("spiral.safetensors", copy), "spiral.safetensors");
        double share = share_right(copy);
        std::printf("loaded: %.1f %% of new points right\n", 100 * share);
        status = share > 0.95 ? 0 : 1;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
    }
    ag_free(adam);
    ag_free(model);
    ag_free(copy);
    return status;
}
