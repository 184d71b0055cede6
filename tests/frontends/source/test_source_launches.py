"""Launches as they stand in host code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.frontends.arguments import parse_argument
from kernelcast.frontends.expressions import evaluate
from kernelcast.frontends.source.source_launches import SourceLaunch, launches_of
from kernelcast.ir import Structure, Texture

KERNEL = "__global__ void k(int n, float a, const float* x, double* y) {}\n"


def launch(host: str, kernel: str = KERNEL) -> SourceLaunch:
    (found,) = launches_of(kernel + host, "app.cu")
    return found


def test_a_launch_as_programs_write_it() -> None:
    found = launch("""
    int main(int argc, char** argv) {
        const int n = atoi(argv[1]);
        const int threads = 256;
        float *x; double *y;
        cudaMalloc((void**)&x, n * sizeof(float));
        cudaMalloc(&y, sizeof(double) * 1024);
        dim3 grid((n + threads - 1) / threads, 2), block(threads);
        k<<<grid, block, 4 * threads>>>(n, 2.5f, x, y);
    }""")
    assert (found.kernel, found.is_known, found.line) == ("k", True, 10)
    assert found.grid == ("(n + 256 - 1) // 256", "2")
    assert found.block == ("256",)
    assert found.smem == "1024"
    assert found.arguments == {"n": "n", "a": "2.5", "x": "f32[n]", "y": "f64[1024]"}
    assert found.opened == {"n": "atoi ( argv [ 1 ] )"}


@pytest.mark.parametrize(
    "given",
    [
        "if (argc > 1) n = atoi(argv[1]);",
        "if (argc > 1) { n = atoi(argv[1]); }",
        "if (argc < 2) puts(argv[0]); else n = atoi(argv[1]);",
        'if (argc > 1) sscanf(argv[1], "%d", &n);',
        "for (int at = 1; at < argc; at++) { if (argv[at][0] == 'n') n = atoi(argv[++at]); }",
        "while (c != -1) { switch (c) { case 'n': n = atoi(optarg); break; } }",
    ],
)
def test_a_program_is_called_without_arguments(given: str) -> None:
    found = launch(f"""
    int main(int argc, char** argv) {{
        int n = 1024;
        {given}
        const int threads = argc > 2 ? atoi(argv[2]) : 128;
        k<<<n / threads, threads>>>(n, 1.0f, nullptr, nullptr);
    }}""")
    assert (found.grid, found.block, found.is_without_arguments) == (("8",), ("128",), True)


def test_what_a_program_must_be_given_is_open() -> None:
    found = launch("""
    void go(int n) { k<<<n, 128>>>(n, 1.0f, nullptr, nullptr); }
    int main(int count, char** texts) {
        int n = 0;
        if (count != 2) return 1;
        n = atoi(texts[1]);
        go(n);
    }""")
    assert found.opened["n"] == "atoi ( texts [ 1 ] )"
    assert found.is_without_arguments


@pytest.mark.parametrize(
    "host",
    [
        "void go() { int m; for (int n = m = 256; n < 9; n++) %s }",
        "void go() { int n; for (n = 256; n > 0; n /= 2) { if (n > 4) { %s } } }",
        "void go() { const int sizes[] = {256, 512}; for (int at = 0; at < 2; ++at) "
        "{ int n = sizes[at]; for (int turn = 0; turn < 3; turn++) %s } }",
    ],
)
def test_a_loop_is_in_its_first_turn(host: str) -> None:
    found = launch(host % "k<<<n, n>>>(n, 1.0f, nullptr, nullptr);")
    assert (found.grid, found.block, found.arguments["n"]) == (("256",), ("256",), "256")


def test_what_a_loop_before_has_changed_is_open() -> None:
    found = launch(
        "void go() { int n = 1; for (int at = 0; at < 8; at++) n *= 2;\n"
        "int sizes[] = {256, 512}; sizes[0] = n;\n"
        "k<<<n, sizes[0]>>>(n, 1.0f, nullptr, nullptr); }"
    )
    assert (found.grid, found.block) == (("n",), ("sizes_0",))


@pytest.mark.parametrize(
    ("containers", "x", "y"),
    [
        (
            "thrust::device_vector<float> a(n); thrust::device_vector<double> b(2 * n, 1.0);",
            "thrust::raw_pointer_cast(a.data())",
            "thrust::raw_pointer_cast(&b[0])",
        ),
        (
            "std::vector<float> h(n), *none; thrust::device_vector<float> a = h;"
            "thrust::host_vector<double> g; g.resize(2 * n); thrust::device_vector<double> b(g);",
            "a.data().get()",
            "b.data().get()",
        ),
        (
            "std::vector<float> h{1, 2, 3}; h.assign(n, 0); thrust::device_vector<double> b(2 * n);"
            "thrust::device_vector<float> a(h.begin(), h.end());"
            "float* p = thrust::raw_pointer_cast(a.data()) + 7;",
            "p",
            "b.data().get()",
        ),
        (
            "std::vector<float> h(n); std::vector<std::pair<int, int>> pairs(3);"
            "float* p; cudaMalloc(&p, h.size() * sizeof(float));"
            "double* q; cudaMalloc(&q, 2 * h.size() * sizeof(double));",
            "p",
            "q",
        ),
    ],
)
def test_arrays_are_as_long_as_containers(containers: str, x: str, y: str) -> None:
    found = launch(f"""
    int main() {{
        const int n = 1000;
        {containers}
        k<<<1, 128>>>(n, 1.0f, {x}, {y});
    }}""")
    assert (found.arguments["x"], found.arguments["y"]) == ("f32[1000]", "f64[2000]")
    assert not found.opened


def test_a_container_that_is_given_another_is_as_long() -> None:
    found = launch("""
    int main() {
        std::vector<float> h(1000), more; thrust::device_vector<float> x;
        thrust::device_vector<double> y(8);
        x = h; y.push_back(1.0);
        k<<<1, 128>>>(more.size(), 1.0f, x.data().get(), y.data().get());
    }""")
    assert (found.arguments["x"], found.arguments["y"]) == ("f32[1000]", "f64[y_length]")
    assert found.arguments["n"] == "more_size"


def test_a_container_tells_its_size_where_it_is_handed_to() -> None:
    found = launch("""
    void go(const std::vector<float>& h, thrust::device_vector<double>& y) {
        k<<<h.size() / 64, 64>>>(h.size(), 1.0f, nullptr, y.data().get());
    }
    int main() {
        std::vector<float> values = {1, 2, 3, 4}; values.resize(4096);
        thrust::device_vector<double> results(values.size());
        go(values, results);
    }""")
    assert (found.grid, found.arguments["n"]) == (("64",), "4096")
    assert found.arguments["y"] == "f64[4096]"


@pytest.mark.parametrize("change", ["push_back(1)", "insert(h.end(), 1)", "clear()"])
def test_how_long_a_container_is_that_grows_is_open(change: str) -> None:
    found = launch(f"""
    int main() {{
        std::vector<float> h(8);
        for (int i = 0; i < 100; i++) h.{change};
        k<<<1, 128>>>(h.size(), 1.0f, nullptr, nullptr);
    }}""")
    assert found.arguments["n"] == "h_size"


def test_names_between_brackets_are_not_declared_behind_a_comma() -> None:
    """What `CHECK` makes is a declaration, whose value has commas; a global is used in it."""
    found = launch("""
    #define CHECK(call) do { cudaError_t code = call; if (code) exit(1); } while (0)
    const int N = 1000;
    const int BYTES = N * sizeof(float);
    int main() {
        float *h, *x;
        CHECK(cudaMalloc(&x, BYTES));
        CHECK(cudaMemcpy(x, h, BYTES, cudaMemcpyHostToDevice));
        k<<<1, 128>>>(N, 1.0f, x, nullptr);
    }""")
    assert (found.arguments["n"], found.arguments["x"]) == ("1000", "f32[1000]")


@pytest.mark.parametrize(
    ("around", "is_reached"),
    [
        ("if (block == 32) { @ }", True),
        ("if (block == 16) { @ }", False),
        ("if (block == 16) { go(); } else { @ }", True),
        ("if (block == 32) go(); else @", False),
        ("if (block == 16) { go(); } else if (block == 32) { @ } else { go(); }", True),
        ("if (block == 32) { go(); } else if (block == 16) { @ }", False),
        ("if (block == 16) { go(); } else if (block == 32) { go(); } else { @ }", False),
        ("if (block == 16) for (int i = 0; i < 2; i++) { @ }", False),
        ("if constexpr (block == 16) { if (n > 0) { @ } }", False),
        ("if (block == 16) { go(); } @", True),
        ("if (argc > 1) { @ }", False),
        ("if (n > 0) { @ }", True),
    ],
)
def test_a_launch_under_a_condition_that_does_not_hold_is_not_reached(
    around: str, is_reached: bool
) -> None:
    """`n` is what nobody knows."""
    inside = around.replace("@", "k<<<1, block>>>(n, 1.0f, nullptr, nullptr);")
    found = launch(f"""
    int main(int argc, char** argv) {{
        const int block = 32;
        int n = read_it();
        {inside}
    }}""")
    assert found.is_reached is is_reached


def test_a_kernel_may_have_default_arguments() -> None:
    found = launch(
        "void go() { spin<<<1, 32>>>(7); }", "__global__ void spin(int n, long cycles = 1000) {}\n"
    )
    assert found.arguments == {"n": "7", "cycles": "1000"}


def test_a_template_that_nobody_calls_is_made_as_its_instances_say() -> None:
    found = launch(
        """
    template <typename T> void go(int n, const T* x) { scale<T><<<n / 64, 64>>>(n, x); }
    template void go<double>(int n, const double* x);""",
        "template <typename T> __global__ void scale(int n, const T* x) {}\n",
    )
    assert (found.kernel, found.is_known) == ("scale<double>", True)
    assert (found.grid, found.arguments["x"]) == (("n // 64",), "f64[x_length]")


def test_of_an_array_of_pointers_each_is_what_was_allocated_for_it() -> None:
    found = launch("""
    int main() {
        float* x[4]; double* y[4];
        for (int i = 0; i < 4; i++) {
            cudaMalloc(&x[i], 4096); cudaMalloc((void**)&(y[i]), 64 * sizeof(double));
            k<<<1, 128>>>(128, 1.0f, x[i], y[i]);
        }
    }""")
    assert (found.arguments["x"], found.arguments["y"]) == ("f32[1024]", "f64[64]")


def test_a_launch_as_formatters_write_it_that_know_no_cuda() -> None:
    found = launch("void go() { k << <8, 64 >> > (512, 1.0f, nullptr, nullptr); }")
    assert (found.grid, found.block, found.arguments["n"]) == (("8",), ("64",), "512")


def test_a_call_may_leave_arguments_out() -> None:
    found = launch("""
    void go(int n, float a = 2.5f, int blocks = 8) { k<<<blocks, n>>>(n, a, nullptr, nullptr); }
    int main() { go(64, 1.5f); }""")
    assert (found.grid, found.block, found.arguments["a"]) == (("8",), ("64",), "1.5")


def test_the_size_of_what_a_variable_points_to() -> None:
    found = launch("""
    void go() {
        float *x; double *y, *ys[4];
        cudaMalloc(&x, 128 * sizeof(*x)); cudaMalloc(&y, 64 * sizeof(y[0]) + sizeof(*ys));
        k<<<1, 128>>>(128, 1.0f, x, y);
    }""")
    assert (found.arguments["x"], found.arguments["y"]) == ("f32[128]", "f64[65]")


def test_a_pointer_into_an_array_points_to_what_was_allocated() -> None:
    found = launch("""
    void go() {
        float* x; double* y;
        cudaMalloc(&x, 4096); cudaMalloc(&y, 4096);
        for (int at = 0; at < 2; at++) k<<<1, 128>>>(128, 1.0f, &x[at * 128], y + at * 128);
    }""")
    assert (found.arguments["x"], found.arguments["y"]) == ("f32[1024]", "f64[512]")
    assert not found.is_without_arguments


def test_a_pointer_that_a_function_is_given_may_point_into_an_array() -> None:
    found = launch("""
    void go(float* p, double* q) { k<<<1, 128>>>(128, 1.0f, p, q); }
    int main() {
        float* x; double* y;
        cudaMalloc(&x, 4096); cudaMalloc(&y, 4096);
        double* z = y + 128;
        go(&x[128], z);
    }""")
    assert (found.arguments["x"], found.arguments["y"]) == ("f32[1024] + 128", "f64[512] + 128")


def test_how_far_a_pointer_points_into_an_array_is_left_where_nobody_says() -> None:
    found = launch("""
    int main() {
        const int halo = 3;
        float* x; double* y;
        cudaMalloc(&x, 4096); cudaMalloc(&y, 4096);
        double* inner = y + halo;
        k<<<1, 128>>>(128, 1.0f, x + read_it(), inner + 2);
    }""")
    assert (found.arguments["x"], found.arguments["y"]) == ("f32[1024]", "f64[512] + 5")


def test_a_variable_may_hold_an_instance_of_a_template() -> None:
    found = launch(
        """
    template <int M, int N> __global__ void tiles(int n, const float* x) {}
    void go(int n, float* x) {
        constexpr int M = 64, N = 2 * M;
        auto* kernel = tiles<M, N>, *other = tiles<N, M>;
        bool less = n < M, more = M > n;
        kernel<<<n / N, N>>>(n, x);
    }"""
    )
    assert (found.kernel, found.is_known) == ("tiles<64, 128>", True)
    assert (found.grid, found.block) == (("n // 128",), ("128",))


def test_sizes_of_types_that_the_source_declares() -> None:
    found = launch(
        """
    #include <cuda_bf16.h>
    typedef __nv_bfloat16 bf16;
    struct Pair { float a; double b; };
    __global__ void pairs(bf16* x, Pair* p) {}
    void go(int n) {
        using Own = Pair;
        bf16* x; Pair* p;
        cudaMalloc(&x, sizeof(bf16) * n);
        cudaMalloc(&p, n * sizeof(Own));
        pairs<<<n, 32, sizeof(Pair)>>>(x, p);
    }"""
    )
    assert found.arguments == {"x": "bf16[n]", "p": "b8[n * 16]"}
    assert (found.smem, dict(found.opened)) == ("16", {"n": ""})


@pytest.mark.parametrize(
    ("before", "grid", "expected"),
    [
        ("", "7 / 2", "3"),
        ("", "(int)ceil(7 / 2.0)", "4"),
        ("", "ceilf((float)n / 256)", "ceil(n / 256)"),
        ("", "1 << 10", "1024"),
        ("", "n > 64 ? 64 : n", "min(64, n)"),
        ("", "3 > 2 ? n : 1", "n"),
        ("", "std::max(n, 1)", "max(n, 1)"),
        ("", "up(n, 32)", "(n + 32 - 1) // 32"),
        ("", "SIZE * 2", "128"),
        ("", "B", "3"),
        ("int g = n; g++;", "g", "g"),
        ("int g; scanf(p, &g);", "g", "g"),
        ("int g = 4; g = 5;", "g", "5"),
        ("dim3 g; g.x = 3; g.y = n;", "g", "3,n"),
        ("dim3 g(1, 2, 3);", "dim3(g.z, g.y)", "3,2"),
        ("auto g = dim3{4, 4};", "g", "4,4"),
        ("int g = items.size();", "g", "g"),
        ("", "items.size()", "items_size"),
        ("", "static_cast<unsigned>(n)", "n"),
        ("", "sizeof(float4) / sizeof(half)", "8"),
    ],
)
def test_shapes(before: str, grid: str, expected: str) -> None:
    found = launch(f"""
    #define SIZE 64
    enum {{ A, B = 3, C }};
    static int up(int a, int b) {{ return (a + b - 1) / b; }}
    void run(int n) {{ {before} k<<<{grid}, 64>>>(0, 0, nullptr, nullptr); }}""")
    assert ",".join(found.grid) == expected


def test_parameters_hold_what_the_only_caller_gives() -> None:
    found = launch("""
    template <int BLOCK> void run(const float* data, int n) {
        k<<<n / BLOCK, BLOCK>>>(n, 1, data, nullptr);
    }
    int main() {
        float* held; cudaMalloc(&held, 4096 * sizeof(float));
        run<128>(held, 4096);
    }""")
    assert (found.grid, found.block) == (("32",), ("128",))
    assert found.arguments["x"] == "f32[4096]"


def test_template_arguments_are_said_or_follow() -> None:
    kernel = "template <typename T, int N> __global__ void k(T* x, int n) {}\n"
    host = "template <typename T> void run(T* p) { const int n = 2 * 8; k<T, n><<<1, n>>>(p, n); }"
    calls = "int main() { double *d; float *f; run(d); run(f); }"
    found = launches_of(kernel + host + calls, "app.cu")
    assert [each.kernel for each in found] == ["k<double, 16>", "k<float, 16>"]
    assert all(each.is_known for each in found)
    assert found[0].arguments == {"x": "f64[x_length]", "n": "16"}
    (alone,) = launches_of(kernel + host, "app.cu")
    assert (alone.kernel, alone.is_known) == ("k<T, 16>", False)


def test_other_ways_to_launch() -> None:
    called = launch("""
    int main() {
        int n = 5; float a = 1; float* x; double* y;
        void* args[] = {&n, &a, &x, &y};
        cudaLaunchKernel((const void*)k, dim3(2), dim3(64), args, 0, 0);
    }""")
    assert (called.kernel, called.grid, called.arguments["n"]) == ("k", ("2",), "5")
    macro = launch("#define GO(f, g) f<<<g, 64>>>(1, 2, 0, 0)\nvoid run() { GO(k, 9); }")
    assert (macro.kernel, macro.grid, macro.line) == ("k", ("9",), 3)
    held = launch("void run() { auto f = k; f<<<1, 2>>>(1, 2, 0, 0); }")
    assert held.kernel == "k"


def test_a_source_without_launches_has_none() -> None:
    assert launches_of(KERNEL, "app.cu") == ()
    assert launches_of('const char* s = "k<<<1, 2>>>()"; // k<<<1, 2>>>()', "app.cu") == ()


OPERATORS = ["+", "*", "/", "%", "<<", "|", "&", "^"]
TERMS = st.recursive(
    st.integers(0, 99).map(str),
    lambda inner: st.tuples(inner, st.sampled_from(OPERATORS), inner).map(
        lambda parts: (
            f"({parts[0]} {parts[1]} ({parts[2]} + 1))"
            if parts[1] != "<<"
            else f"({parts[0]} {parts[1]} 1)"
        )
    ),
    max_leaves=6,
)


@given(TERMS)
def test_constants_are_those_of_the_expression_with_names_put_in(term: str) -> None:
    """Folding a constant gives what evaluating the open expression gives."""
    opened = launch(f"void run(int n) {{ k<<<{term} + n, 1>>>(0, 0, 0, 0); }}").grid[0]
    folded = launch(f"void run() {{ k<<<{term} + 0, 1>>>(0, 0, 0, 0); }}").grid[0]
    assert evaluate(opened, {"n": 0}) == evaluate(folded, {})


@given(st.text("k<>(),;=*&ndim3{}.x \n", max_size=80))
def test_any_host_code_can_be_read(text: str) -> None:
    for found in launches_of(f"{KERNEL}void run(int n) {{ {text} k<<<n, 1>>>(n); }}", "app.cu"):
        assert found.grid
        assert found.block


def test_a_type_that_stands_for_itself_is_open() -> None:
    kernel = "template <typename T> __global__ void k(int n) {}\n"
    host = "template <typename T> void run() { k<T><<<1, sizeof(T)>>>(1); if (0) run<T>(); }\n"
    other = "template <typename T> void again() { run<T>(); }\n"
    (found, *_) = launches_of(f"{kernel}{host}{other}", "app.cu")
    assert found.block == ("sizeof_T",)


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("y[0] = tex1Dfetch<float>(t, 1);", "f32[t_width] texture(1d)"),
        ("y[0] = tex3D<float4>(t, 1, 2, 3).x;", "f32[t_depth, t_height, t_width, 4] texture(3d)"),
        (
            "unsigned char c; tex2DLayered(&c, t, 1, 2, 3); y[0] = c;",
            "f32[t_layers, t_height, t_width] texture(2d, layered)",
        ),
        (
            "y[0] = tex2DLod<unsigned char>(other, 1, 2, 3) + tex2D<ushort2>(t, 1, 2).x;",
            "u16[t_height, t_width, 2] texture(2d)",
        ),
        ("y[0] = texCubemap<float>(t, 1, 2, 3);", "f32[6, t_size, t_size] texture(cube)"),
        (
            "y[0] = texCubemapLayered<int>(t, 1, 2, 3, 4);",
            "s32[6 * t_cubes, t_size, t_size] texture(cube, layered)",
        ),
        ("helper(t);", "f32[t_height, t_width] texture(2d)"),
    ],
)
def test_textures_are_written_as_the_kernel_reads_them(call: str, written: str) -> None:
    kernel = f"__global__ void k(cudaTextureObject_t t, float *y) {{ {call} }}\n"
    found = launch("void go(cudaTextureObject_t a, float *y) { k<<<1, 32>>>(a, y); }", kernel)
    assert found.arguments["t"] == written
    numbers = dict.fromkeys(found.opened, 8)
    assert isinstance(parse_argument(written, numbers, where="t"), Texture)


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("surf2Dwrite(y[0], s, 4, 2);", "f32[s_height, s_width] surface(2d)"),
        ("y[0] = surf1DLayeredread<int>(s, 4, 2);", "s32[s_layers, s_width] surface(1d, layered)"),
        (
            "surfCubemapwrite<float>(y[0], s, 4, 2, 1);",
            "f32[s_layers, s_height, s_width] surface(2d, layered)",
        ),
    ],
)
def test_surfaces_are_written_as_the_kernel_uses_them(call: str, written: str) -> None:
    kernel = f"__global__ void k(cudaSurfaceObject_t s, float *y) {{ {call} }}\n"
    found = launch("void go(cudaSurfaceObject_t a, float *y) { k<<<1, 32>>>(a, y); }", kernel)
    assert found.arguments["s"] == written
    assert isinstance(parse_argument(written, dict.fromkeys(found.opened, 8), where="s"), Texture)


STRUCTS = """
struct Inner { float s[4]; double *w; };
struct P { float *x; int n; Inner in; };
struct Flags { int a : 3; int b : 5; };
__global__ void k(P p, cudaTextureObject_t t, Flags f, float *y) {}
"""


def test_structs_and_textures_are_written_with_what_they_hold() -> None:
    found = launch(
        "void go(P p, cudaTextureObject_t t, Flags f, float *y) { k<<<1, 32>>>(p, t, f, y); }",
        STRUCTS,
    )
    assert found.arguments == {
        "p": "{x=f32[p_x_length], n=p_n, in={s=[p_in_s]*4, w=f64[p_in_w_length]}}",
        "t": "f32[t_height, t_width] texture(2d)",
        "f": "f",
        "y": "f32[y_length]",
    }
    assert found.opened["p_in_s"] == "p.in.s, f32"
    assert found.opened["t_width"] == "width of texture t"
    numbers = dict.fromkeys(found.opened, 8)
    struct = parse_argument(found.arguments["p"], numbers, where="p")
    assert isinstance(struct, Structure)
    assert dict(struct.fields)["n"] == 8
    texture = parse_argument(found.arguments["t"], numbers, where="t")
    assert isinstance(texture, Texture)
    assert texture.array.shape == (8, 8)
