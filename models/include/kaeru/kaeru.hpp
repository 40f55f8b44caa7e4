// kaeru.hpp: kaeru.h for C++11 and later, with owners: what they own ends when they do, also if an exception passes.
//
//     kaeru::Owner<Linear> layer(nn_linear_new(2, 3));        // ag_free at the end
//     {
//         kaeru::Scope scope(AG_RECORD);                      // ag_end at the end
//         ag_backward(ag_sum(nn_linear(layer.get(), x)));
//     }
#ifndef KAERU_KAERU_HPP
#define KAERU_KAERU_HPP

#include <cstddef>
#include <memory>
#include <utility>

#include "kaeru/kaeru.h"

namespace kaeru {

// Errors name the line of the program that began the scope. A handler of usage errors belongs to its thread: a new thread has
// none.
class Scope {
public:
    explicit Scope(AgMode mode, const char *file = __builtin_FILE(), int line = __builtin_LINE())
        : file_(file), line_(line), scope_(begun(mode, file, line)) {}
    ~Scope()
    {
        ag_in(file_, line_);
        (ag_end)(scope_);
        ag_out();
    }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

private:
    static AgScope begun(AgMode mode, const char *file, int line)
    {
        ag_in(file, line);
        AgScope scope = (ag_begin)(mode);
        ag_out();
        return scope;
    }

    const char *file_;
    int line_;
    AgScope scope_;
};

// Owns what End frees, an object that nothing owned before. An error that unwinds a scope does not free it, even if the scope is
// older than the object. Errors name the line of the program that makes the owner.
template <class T, class End> class Owning : public std::unique_ptr<T, End> {
    using Pointer = std::unique_ptr<T, End>;
    static T *taken(T *p, const char *file, int line)
    {
        ag_in(file, line);
        if (p) (ag_set_owner)(p, nullptr);
        ag_out();
        return p;
    }

public:
    Owning() = default;
    Owning(std::nullptr_t) {}
    Owning(Pointer &&other) : Pointer(std::move(other)) {}
    explicit Owning(T *p, const char *file = __builtin_FILE(), int line = __builtin_LINE())
        : Pointer(taken(p, file, line)) {}
    using Pointer::operator=;
    void reset(T *p = nullptr, const char *file = __builtin_FILE(), int line = __builtin_LINE())
    {
        Pointer::reset(taken(p, file, line));
    }
};

// A module, an optimizer, a cache: what ag_free frees. An optimizer may end before its module or after it.
struct Free {
    void operator()(void *p) const
    {
        ag_in(nullptr, 0);          // a destructor's line is not known
        (ag_free)(p);
        ag_out();
    }
};
template <class T> using Owner = Owning<T, Free>;

// A tensor that no scope owns, as from ag_keep.
struct FreeTensor {
    void operator()(Tensor *t) const
    {
        ag_in(nullptr, 0);
        (tensor_free)(t);
        ag_out();
    }
};
using OwnedTensor = Owning<Tensor, FreeTensor>;

}  // namespace kaeru

#endif
