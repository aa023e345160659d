/*
 * Local training of LeNet-5 as learning/models/lenet.py defines it: cross entropy, SGD with momentum and
 * weight decay, all epochs of one client in one call; and what it makes of images.
 *
 * Batches of ten 28x28 images are too small for torch's kernels: most of a step is spent on getting
 * to the arithmetic. Here the innermost loop of a convolution runs over output channels, a vector
 * of sixteen lanes where there are such: conv2's 16 channels, or conv1's 6 (and 2 of zeros) for two
 * pixels side by side. The first fully connected layer has most of the weights and reads them once
 * for several samples.
 *
 * Compiled on first use by learning/training/compiled_c.py; where there is no compiler torch does the work.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Lanes of the widest vector (gcc makes slow code of one that the machine does not have), and how
 * many samples, or rows of weights, a loop takes together.
 */
#ifdef __AVX512F__
enum { LANES = 16, TILE = 5 };
#else
enum { LANES = 8, TILE = 2 };
#endif
typedef float v4 __attribute__((vector_size(16), aligned(4)));
typedef float v8 __attribute__((vector_size(32), aligned(4)));
typedef float wide __attribute__((vector_size(LANES * 4), aligned(4)));
typedef int32_t i4 __attribute__((vector_size(16), aligned(4)));
typedef int32_t i8 __attribute__((vector_size(32), aligned(4)));
typedef int32_t iwide __attribute__((vector_size(LANES * 4), aligned(4)));

enum {
	K = 5, IN = 32,              /* kernels are 5x5, images are padded to 32x32 */
	A1 = 28, P1 = 14, C1 = 6,    /* conv1's output, pooled, its channels */
	A2 = 10, P2 = 5, C2 = 16,
	H0 = C2 * P2 * P2, H1 = 120, H2 = 84,
	MOST_CHANNELS = 3, MOST_CLASSES = 64,
	ACROSS = 5,                  /* vectors of h0 that a loop takes together */
	SIDE = LANES / 8,            /* pixels of conv1 in a vector */
	PARTS = C2 / LANES,          /* vectors for a pixel of conv2 */
};

/* Where each tensor begins in the flat array of parameters, in the order of state_dict. */
struct layout { long w1, b1, w2, b2, f1, c1, f2, c2, f3, c3, all; };

static struct layout layout(int channels, int classes)
{
	struct layout l;
	l.w1 = 0;
	l.b1 = l.w1 + (long)C1 * channels * K * K;
	l.w2 = l.b1 + C1;
	l.b2 = l.w2 + (long)C2 * C1 * K * K;
	l.f1 = l.b2 + C2;
	l.c1 = l.f1 + (long)H1 * H0;
	l.f2 = l.c1 + H1;
	l.c2 = l.f2 + (long)H2 * H1;
	l.f3 = l.c2 + H2;
	l.c3 = l.f3 + (long)classes * H2;
	l.all = l.c3 + classes;
	return l;
}

/* What one sample leaves for its way back. */
struct sample {
	float x[MOST_CHANNELS * IN * IN + 16]; /* rows are read eight at a time */
	i8 from1[P1 * P1];                     /* where in x a pixel of p1 came from */
	v8 p1[P1 * P1];                        /* [y][x][lane] */
	i8 from2[P2 * P2][2];                  /* where in p1 one of h0 came from */
	float h0[H0], d0[H0], h1[H1], h2[H2], out[MOST_CLASSES];
	float d1[H1], d2[H2], dout[MOST_CLASSES];
} __attribute__((aligned(64)));

/* A row of a kernel: the sum of its five products, as AT(j) gives the pixels. */
#define ROW(AT, W)                                                                                \
	(AT(0) * (W)[0] + AT(1) * (W)[1] + (AT(2) * (W)[2] + AT(3) * (W)[3]) + AT(4) * (W)[4])

/* SIDE pixels in turn, over all lanes. */
static inline wide side_by_side(const float *x)
{
#ifdef __AVX512F__
	typedef double pixels __attribute__((may_alias, aligned(4)));
	typedef double wide_pixels __attribute__((vector_size(64)));
	const double two = *(const pixels *)x;
	return (wide)(wide_pixels){ two, two, two, two, two, two, two, two };
#else
	return (wide){ *x, *x, *x, *x, *x, *x, *x, *x };
#endif
}

/* All lanes of the first of SIDE pixels, then all of the second. */
static inline wide one_after_another(wide v)
{
#ifdef __AVX512F__
	return __builtin_shuffle(v, (iwide){ 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15 });
#else
	return v;
#endif
}

/* out[y][x][lane] = bias + sum over x[c][y+i][x+j] * w[c][i][j][lane] */
static void convolve1(const float *x, const wide *weights, const wide *bias, int channels,
		      float *out)
{
	enum { AT_ONCE = 7 };

	for (int y = 0; y < A1; y++)
		for (int first = 0; first < A1; first += AT_ONCE * SIDE, out += AT_ONCE * LANES) {
			const wide *w = weights;
			wide sum[AT_ONCE];
			for (int p = 0; p < AT_ONCE; p++)
				sum[p] = *bias;
#define AT(J) side_by_side(x + (c * IN + y + i) * IN + first + p * SIDE + J)
			for (int c = 0; c < channels; c++)
				for (int i = 0; i < K; i++, w += K)
#pragma GCC unroll 7
					for (int p = 0; p < AT_ONCE; p++)
						sum[p] += ROW(AT, w);
#undef AT
			for (int p = 0; p < AT_ONCE; p++)
				*(wide *)(out + p * LANES) = one_after_another(sum[p]);
		}
}

/* The same for one vector of conv2's lanes. */
static void convolve2(const float *p1, const wide *weights, const wide *bias, float *out)
{
	enum { AT_ONCE = 5 };

	for (int y = 0; y < A2; y++)
		for (int x = 0; x < A2; x += AT_ONCE) {
			const wide *w = weights;
			wide sum[AT_ONCE];
			for (int p = 0; p < AT_ONCE; p++)
				sum[p] = *bias;
#define AT(J) p1[((y + i) * P1 + x + p + J) * 8 + c]
			for (int c = 0; c < C1; c++)
				for (int i = 0; i < K; i++, w += K)
#pragma GCC unroll 5
					for (int p = 0; p < AT_ONCE; p++)
						sum[p] += ROW(AT, w);
#undef AT
			for (int p = 0; p < AT_ONCE; p++)
				*(wide *)(out + (y * A2 + x + p) * C2) = sum[p];
		}
}

/*
 * 2x2 maxima, then ReLU, of `each` vectors a pixel. `from` says where a pixel came from (like torch
 * the first of equal ones), counted in an image whose rows have `row` pixels.
 */
static inline void pool(const v8 *y, int size, int each, int row, v8 *out, i8 *from)
{
	for (int r = 0; r < size; r += 2)
		for (int x = 0; x < size; x += 2)
			for (int v = 0; v < each; v++) {
				v8 most = y[(r * size + x) * each + v];
				i8 where = { 0 };
				for (int q = 1; q < 4; q++) {
					v8 next = y[((r + q / 2) * size + x + q % 2) * each + v];
					i8 more = next > most;
					most = (v8)((more & (i8)next) | (~more & (i8)most));
					where = (more & (q / 2 * row + q % 2)) | (~more & where);
				}
				*out++ = (v8)((most > 0) & (i8)most);
				*from++ = where + (r * row + x);
			}
}

/* Weights [o][c][i][j] as [c][i][j][lane], `apart` lanes from one o to the next, and back. */
static void to_lanes(const float *w, int outputs, int each, int lanes, int apart, float *t)
{
	for (int o = 0; o < outputs; o++)
		for (int e = 0; e < each; e++)
			t[e * lanes + o * apart] = w[o * each + e];
}

static void from_lanes(const float *t, int outputs, int each, int lanes, float *w)
{
	for (int o = 0; o < outputs; o++)
		for (int e = 0; e < each; e++)
			w[o * each + e] = t[e * lanes + o];
}

static float dot(const float *a, const float *b, int n)
{
	float sum = 0;
	for (int k = 0; k < n; k++)
		sum += a[k] * b[k];
	return sum;
}

/* The convolutions' weights as the loops want them; lanes beyond the channels are zero. */
struct weights {
	wide w1[MOST_CHANNELS * K * K], b1; /* [c][i][j][lane of o], each lane SIDE times */
	wide w2[PARTS][C1 * K * K], b2[PARTS];
	v8 w2_back[C2][K * K];              /* [o][i][j][lane of c] */
};

/* Their gradients: a row of eight (five count) for conv1, lanes of c for conv2. */
struct gradients {
	v8 w1[C1][MOST_CHANNELS * K];
	v8 w2[C2][K * K];
	v8 b1;
	float b2[C2];
};

static void arrange(struct weights *t, const float *w, struct layout l, int channels)
{
	for (int side = 0; side < SIDE; side++) {
		to_lanes(w + l.w1, C1, channels * K * K, LANES, SIDE, (float *)t->w1 + side);
		to_lanes(w + l.b1, C1, 1, LANES, SIDE, (float *)&t->b1 + side);
	}
	for (int part = 0; part < PARTS; part++)
		to_lanes(w + l.w2 + part * LANES * C1 * K * K, LANES, C1 * K * K, LANES, 1,
			 (float *)t->w2[part]);
	memcpy(t->b2, w + l.b2, sizeof(t->b2));
	for (int o = 0; o < C2; o++)
		to_lanes(w + l.w2 + o * C1 * K * K, C1, K * K, 8, 1, (float *)t->w2_back[o]);
}

static void collect(const struct gradients *g, struct layout l, int channels, float *gradient)
{
	for (int o = 0; o < C1; o++)
		for (int r = 0; r < channels * K; r++)
			memcpy(gradient + l.w1 + (o * channels * K + r) * K, &g->w1[o][r],
			       sizeof(float) * K);
	for (int o = 0; o < C2; o++)
		from_lanes((const float *)g->w2[o], C1, K * K, 8,
			   gradient + l.w2 + o * C1 * K * K);
	memcpy(gradient + l.b1, &g->b1, sizeof(float) * C1);
	memcpy(gradient + l.b2, g->b2, sizeof(g->b2));
}

static void layer(const float *w, const float *bias, const float *in, int inputs, int outputs,
		  float *out, int relu)
{
	for (int j = 0; j < outputs; j++) {
		float sum = bias[j] + dot(w + (long)j * inputs, in, inputs);
		out[j] = relu && sum < 0 ? 0 : sum;
	}
}

/* From x to h0. */
static void convolutions(struct sample *s, const struct weights *t, int channels)
{
	v8 y1[A1 * A1] __attribute__((aligned(64))), y2[A2 * A2][2] __attribute__((aligned(64)));
	v8 pooled[P2 * P2][2];

	convolve1(s->x, t->w1, &t->b1, channels, (float *)y1);
	pool(y1, A1, 1, IN, s->p1, s->from1);
	for (int part = 0; part < PARTS; part++)
		convolve2((const float *)s->p1, t->w2[part], &t->b2[part], (float *)y2 + part * LANES);
	pool(&y2[0][0], A2, 2, P1, &pooled[0][0], &s->from2[0][0]);
	from_lanes((const float *)pooled, C2, P2 * P2, 16, s->h0);
}

/* The sum of the lanes. */
static float across(v8 v)
{
	v4 sum = ((v4 *)&v)[0] + ((v4 *)&v)[1];
	sum += __builtin_shuffle(sum, (i4){ 2, 3, 0, 1 });
	sum += __builtin_shuffle(sum, (i4){ 1, 0, 3, 2 });
	return sum[0];
}

/* h0 to h1, some outputs of TILE samples at a time: the last one again where there are too few. */
static void third_layer(struct sample *s, int count, const float *w, const float *bias)
{
	enum { ROWS = 4 };

	for (int j = 0; j < H1; j += ROWS, w += ROWS * H0)
		for (int first = 0; first < count; first += TILE) {
			v8 sum[TILE][ROWS] = { 0 };
			struct sample *at[TILE];
			for (int n = 0; n < TILE; n++)
				at[n] = s + (first + n < count ? first + n : count - 1);
			for (int k = 0; k < H0; k += 8)
				for (int n = 0; n < TILE; n++)
					for (int r = 0; r < ROWS; r++)
						sum[n][r] += *(const v8 *)(at[n]->h0 + k) *
							     *(const v8 *)(w + r * H0 + k);
			for (int n = 0; n < TILE; n++)
				for (int r = 0; r < ROWS; r++) {
					const float h = bias[j + r] + across(sum[n][r]);
					at[n]->h1[j + r] = h < 0 ? 0 : h;
				}
		}
}

/* The outputs of `count` samples, their images being in place. */
static void forward(struct sample *s, int count, const struct weights *t, const float *w,
		    struct layout l, int channels, int classes)
{
	for (int n = 0; n < count; n++)
		convolutions(s + n, t, channels);
	third_layer(s, count, w + l.f1, w + l.c1);
	for (int n = 0; n < count; n++) {
		layer(w + l.f2, w + l.c2, s[n].h1, H1, H2, s[n].h2, 1);
		layer(w + l.f3, w + l.c3, s[n].h2, H2, classes, s[n].out, 0);
	}
}

/* Softmax and cross entropy: the loss, and its gradient over `share` samples in dout. */
static double entropy(struct sample *s, int classes, int64_t label, float share)
{
	float high = s->out[0], sum = 0;

	for (int j = 1; j < classes; j++)
		high = s->out[j] > high ? s->out[j] : high;
	for (int j = 0; j < classes; j++)
		sum += s->dout[j] = expf(s->out[j] - high);
	for (int j = 0; j < classes; j++)
		s->dout[j] = (s->dout[j] / sum - (j == label)) / share;
	return log((double)sum) - (s->out[label] - high);
}

/* d_in = W^T d_out where ReLU let it through. */
static void layer_back(const float *w, const float *d_out, const float *in, int inputs, int outputs,
		       float *d_in)
{
	memset(d_in, 0, sizeof(float) * inputs);
	for (int j = 0; j < outputs; j++) {
		const float d = d_out[j], *row = w + (long)j * inputs;
		if (d != 0)
			for (int k = 0; k < inputs; k++)
				d_in[k] += d * row[k];
	}
	for (int k = 0; k < inputs; k++)
		if (!(in[k] > 0))
			d_in[k] = 0;
}

/* sum[m][:] = sum over r of a[m][r * next] * b[r * below], ACROSS vectors of each b. */
static inline void products(const float *a[TILE], long next, const float *b, long below, int count,
			    wide sum[TILE][ACROSS])
{
	wide now[TILE][ACROSS] = { 0 };
	for (int r = 0; r < count; r++)
		for (int v = 0; v < ACROSS; v++)
			for (int m = 0; m < TILE; m++)
				now[m][v] += a[m][r * next] * ((const wide *)(b + r * below))[v];
	memcpy(sum, now, sizeof(now));
}

/* layer_back from h1 to h0 for all samples of the batch. */
static void third_layer_back(struct sample *s, int count, const float *w)
{
	for (int first = 0; first < count; first += TILE) {
		struct sample *at[TILE];
		const float *d[TILE];
		for (int n = 0; n < TILE; n++) {
			at[n] = s + (first + n < count ? first + n : count - 1);
			d[n] = at[n]->d1;
		}
		for (int k = 0; k < H0; k += ACROSS * LANES) {
			wide sum[TILE][ACROSS];
			products(d, 1, w + k, H0, H1, sum);
			for (int n = 0; n < TILE; n++)
				for (int v = 0; v < ACROSS; v++) {
					const wide h = *(const wide *)(at[n]->h0 + k + LANES * v);
					*(wide *)(at[n]->d0 + k + LANES * v) =
						(wide)((h > 0) & (iwide)sum[n][v]);
				}
		}
	}
}

/* SGD's step with momentum and weight decay. */
struct pace { float rate, momentum, decay; };
#define STEP(W, V, G, PACE)                                                                       \
	do {                                                                                      \
		V = (PACE).momentum * V + (PACE).decay * W + G;                                   \
		W -= (PACE).rate * V;                                                             \
	} while (0)

/* The step of the weights between h0 and h1. */
static void third_layer_step(const struct sample *s, int count, float *w, float *velocity,
			     struct pace pace)
{
	const long next = sizeof(*s) / sizeof(float);

	for (int j = 0; j < H1; j += TILE) {
		const float *d[TILE];
		for (int m = 0; m < TILE; m++)
			d[m] = s->d1 + j + m;
		for (int k = 0; k < H0; k += ACROSS * LANES) {
			wide sum[TILE][ACROSS];
			products(d, next, s->h0 + k, next, count, sum);
			for (int m = 0; m < TILE; m++)
				for (int v = 0; v < ACROSS; v++) {
					const long at = (j + m) * H0 + k + LANES * v;
					STEP(*(wide *)(w + at), *(wide *)(velocity + at), sum[m][v], pace);
				}
		}
	}
}

/*
 * Pooling and ReLU let a gradient through at one pixel of four at most: the convolutions' way back
 * goes through those, one by one.
 */
static void backward(struct sample *s, const struct weights *t, int channels, struct gradients *g)
{
	const int32_t *from1 = (const int32_t *)s->from1, *from2 = (const int32_t *)s->from2;
	v8 dp1[P1 * P1] = { 0 };
	const float *d1 = (const float *)dp1;

	for (int o = 0; o < C2; o++) {
		float d[P2 * P2];
		int at[P2 * P2], count = 0;
		for (int p = 0; p < P2 * P2; p++) {
			d[count] = s->d0[o * P2 * P2 + p];
			at[count] = from2[p * C2 + o];
			count += d[count] != 0;
		}
		v8 w[K * K];
		memcpy(w, g->w2[o], sizeof(w));
		for (int n = 0; n < count; n++) {
			g->b2[o] += d[n];
			for (int i = 0; i < K; i++)
				for (int j = 0; j < K; j++)
					w[i * K + j] += d[n] * s->p1[at[n] + i * P1 + j];
		}
		memcpy(g->w2[o], w, sizeof(w));
		memcpy(w, t->w2_back[o], sizeof(w));
		for (int n = 0; n < count; n++) {
			v8 *to = dp1 + at[n];
			for (int i = 0; i < K; i++)
				for (int j = 0; j < K; j++)
					to[i * P1 + j] += d[n] * w[i * K + j];
		}
	}
	/* At most pixels of p1 there is a gradient: looking for them would take longer. */
	for (int p = 0; p < P1 * P1; p++) {
		dp1[p] = (v8)((s->p1[p] > 0) & (i8)dp1[p]);
		g->b1 += dp1[p];
	}
	for (int c = 0; c < channels; c++)
		for (int o = 0; o < C1; o += 3) {
			v8 w[3][K];
			for (int q = 0; q < 3; q++)
				memcpy(w[q], &g->w1[o + q][c * K], sizeof(w[q]));
			for (int p = 0; p < P1 * P1; p++)
				for (int q = 0; q < 3; q++) {
					const float *x = s->x + c * IN * IN + from1[p * 8 + o + q];
					for (int i = 0; i < K; i++)
						w[q][i] += d1[p * 8 + o + q] * *(const v8 *)(x + i * IN);
				}
			for (int q = 0; q < 3; q++)
				memcpy(&g->w1[o + q][c * K], w[q], sizeof(w[q]));
		}
}

/* Gradients of a fully connected layer over all samples of the batch. */
static void layer_gradient(const struct sample *s, int count, size_t d_at, size_t in_at, int inputs,
			   int outputs, float *dw, float *db)
{
	for (int j = 0; j < outputs; j++, dw += inputs) {
		memset(dw, 0, sizeof(float) * inputs);
		db[j] = 0;
		for (int n = 0; n < count; n++) {
			const float d = ((const float *)((const char *)(s + n) + d_at))[j];
			const float *in = (const float *)((const char *)(s + n) + in_at);
			db[j] += d;
			if (d != 0)
				for (int k = 0; k < inputs; k++)
					dw[k] += d * in[k];
		}
	}
}

/* An image into the middle of the sample's 32x32 pixels. */
static void place(struct sample *s, const float *image, int channels, int size)
{
	enum { SMALL = 28, EDGE = (IN - SMALL) / 2 };

	if (size == IN)
		memcpy(s->x, image, sizeof(float) * channels * IN * IN);
	else
		for (int c = 0; c < channels; c++)
			for (int y = 0; y < SMALL; y++)
				memcpy(s->x + (c * IN + y + EDGE) * IN + EDGE,
				       image + (c * SMALL + y) * SMALL, sizeof(float) * SMALL);
}

static int possible(int channels, int size, int classes)
{
	return channels >= 1 && channels <= MOST_CHANNELS && (size == 28 || size == IN) &&
	       classes >= 1 && classes <= MOST_CLASSES;
}

/* The network's outputs for `count` images; 0, or -1 without memory or for impossible numbers. */
int lenet5_classify(const float *params, int channels, int size, int classes, const float *images,
		    int64_t count, float *outputs)
{
	const struct layout l = layout(channels, classes);
	struct sample *s = aligned_alloc(64, sizeof(*s) * TILE);
	struct weights *t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);
	const int can = s && t && possible(channels, size, classes);

	if (can) {
		memset(s, 0, sizeof(*s) * TILE);
		memset(t, 0, sizeof(*t));
		arrange(t, params, l, channels);
		for (int64_t first = 0; first < count; first += TILE) {
			const int here = count - first < TILE ? count - first : TILE;
			for (int n = 0; n < here; n++)
				place(s + n, images + (first + n) * channels * size * size, channels, size);
			forward(s, here, t, params, l, channels, classes);
			for (int n = 0; n < here; n++)
				memcpy(outputs + (first + n) * classes, s[n].out, sizeof(float) * classes);
		}
	}
	free(s);
	free(t);
	return can ? 0 : -1;
}

/*
 * Trains `params` in place over the samples in `order` (epochs times count indices). Returns the
 * mean loss of the last epoch's samples, or NaN when there is no memory or a number is impossible.
 */
double lenet5_train(float *params, int channels, int size, int classes, const float *images,
		    const int64_t *labels, const int64_t *order, int64_t count, int64_t epochs,
		    int64_t batch, float rate, float momentum, float decay)
{
	const struct layout l = layout(channels, classes);
	if (batch > count)
		batch = count;
	struct sample *samples = aligned_alloc(64, sizeof(struct sample) * batch);
	struct weights *t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);
	struct gradients *g = aligned_alloc(64, (sizeof(*g) + 63) / 64 * 64);
	float *gradient = calloc(l.all, sizeof(float)), *velocity = calloc(l.all, sizeof(float));
	const struct pace pace = { rate, momentum, decay };
	double loss = NAN;

	if (!samples || !t || !g || !gradient || !velocity || batch < 1 ||
	    !possible(channels, size, classes))
		goto end;
	memset(samples, 0, sizeof(struct sample) * batch);
	memset(t, 0, sizeof(*t));
	for (int64_t epoch = 0; epoch < epochs; epoch++) {
		loss = 0;
		for (int64_t first = 0; first < count; first += batch) {
			const int64_t left = count - first, here = left < batch ? left : batch;
			arrange(t, params, l, channels);
			memset(g, 0, sizeof(*g));
			const int64_t *now = order + epoch * count + first;
			for (int64_t n = 0; n < here; n++)
				place(samples + n, images + now[n] * channels * size * size, channels,
				      size);
			forward(samples, here, t, params, l, channels, classes);
			for (int64_t n = 0; n < here; n++) {
				struct sample *s = samples + n;
				loss += entropy(s, classes, labels[now[n]], here);
				layer_back(params + l.f3, s->dout, s->h2, H2, classes, s->d2);
				layer_back(params + l.f2, s->d2, s->h1, H1, H2, s->d1);
			}
			third_layer_back(samples, here, params + l.f1);
			for (int64_t n = 0; n < here; n++)
				backward(samples + n, t, channels, g);
			collect(g, l, channels, gradient);
#define GRADIENT(D, IN_, W, B, I, O)                                                               \
	layer_gradient(samples, here, offsetof(struct sample, D), offsetof(struct sample, IN_), I, \
		       O, gradient + l.W, gradient + l.B)
			third_layer_step(samples, here, params + l.f1, velocity + l.f1, pace);
			memset(gradient + l.c1, 0, sizeof(float) * H1);
			for (int n = 0; n < here; n++)
				for (int j = 0; j < H1; j++)
					gradient[l.c1 + j] += samples[n].d1[j];
			GRADIENT(d2, h1, f2, c2, H1, H2);
			GRADIENT(dout, h2, f3, c3, H2, classes);
			for (long k = 0; k < l.f1; k++)
				STEP(params[k], velocity[k], gradient[k], pace);
			for (long k = l.c1; k < l.all; k++)
				STEP(params[k], velocity[k], gradient[k], pace);
		}
	}
	loss /= count;
end:
	free(samples);
	free(t);
	free(g);
	free(gradient);
	free(velocity);
	return loss;
}
