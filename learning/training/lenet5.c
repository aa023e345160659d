/*
 * Local training of LeNet-5 as learning/models/lenet.py defines it: cross entropy, SGD with momentum and
 * weight decay, all epochs of one client in one call; and what it makes of images.
 *
 * Batches of ten 28x28 images are too small for torch's kernels: most of a step is spent on getting
 * to the arithmetic. Here the innermost loop of a convolution runs over output channels, one vector
 * of eight lanes (conv1, 6 channels and 2 lanes of zeros) or two (conv2, 16 channels).
 *
 * Compiled on first use by learning/training/compiled_c.py; where there is no compiler torch does the work.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef float v8 __attribute__((vector_size(32), aligned(4)));
typedef int32_t i8 __attribute__((vector_size(32), aligned(4)));

enum {
	K = 5, IN = 32,              /* kernels are 5x5, images are padded to 32x32 */
	A1 = 28, P1 = 14, C1 = 6,    /* conv1's output, pooled, its channels */
	A2 = 10, P2 = 5, C2 = 16,
	H0 = C2 * P2 * P2, H1 = 120, H2 = 84,
	MOST_CHANNELS = 3, MOST_CLASSES = 64,
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
	float x[MOST_CHANNELS * IN * IN + 8]; /* rows are read eight at a time */
	i8 from1[P1 * P1];
	v8 p1[P1 * P1];                       /* [y][x][lane] */
	i8 from2[P2 * P2][2];
	float h0[H0], h1[H1], h2[H2], out[MOST_CLASSES];
	float d0[H0], d1[H1], d2[H2], dout[MOST_CLASSES];
};

/* out[y][x][:] = bias + sum over in[c][y+i][x+j] * w[c][i][j][:], PIXELS of a row at a time. */
#define CONVOLUTION(NAME, V, PIXELS)                                                              \
static void NAME(const float *in, int channels, int size, int result, const v8 *w,               \
		 const v8 *bias, v8 *out)                                                          \
{                                                                                                 \
	for (int y = 0; y < result; y++)                                                          \
		for (int x = 0; x < result; x += PIXELS) {                                        \
			v8 sum[PIXELS][V];                                                        \
			for (int p = 0; p < PIXELS; p++)                                          \
				for (int v = 0; v < V; v++)                                       \
					sum[p][v] = bias[v];                                      \
			const v8 *now = w;                                                        \
			for (int c = 0; c < channels; c++)                                        \
				for (int i = 0; i < K; i++) {                                     \
					const float *row = in + (c * size + y + i) * size + x;    \
					for (int j = 0; j < K; j++, now += V)                     \
						for (int p = 0; p < PIXELS; p++)                  \
							for (int v = 0; v < V; v++)               \
								sum[p][v] += row[j + p] * now[v]; \
				}                                                                 \
			for (int p = 0; p < PIXELS; p++)                                          \
				for (int v = 0; v < V; v++)                                       \
					out[(y * result + x + p) * V + v] = sum[p][v];            \
		}                                                                                 \
}
CONVOLUTION(convolve8, 1, 7)
CONVOLUTION(convolve16, 2, 5)

/*
 * 2x2 maxima, then ReLU. `from` says which of its four a pixel came from (like torch the first of
 * equal ones), and NOWHERE where ReLU let nothing through.
 */
#define NOWHERE 4
#define POOLING(NAME, V)                                                                          \
static void NAME(const v8 *y, int size, v8 *out, i8 *from)                                        \
{                                                                                                 \
	for (int r = 0; r < size; r += 2)                                                         \
		for (int x = 0; x < size; x += 2)                                                 \
			for (int v = 0; v < V; v++) {                                             \
				v8 most = y[(r * size + x) * V + v];                              \
				i8 where = { 0 };                                                 \
				for (int q = 1; q < 4; q++) {                                     \
					v8 next = y[((r + q / 2) * size + x + q % 2) * V + v];    \
					i8 more = next > most;                                    \
					most = (v8)((more & (i8)next) | (~more & (i8)most));      \
					where = (more & q) | (~more & where);                     \
				}                                                                 \
				i8 on = most > 0;                                                 \
				*out++ = (v8)(on & (i8)most);                                     \
				*from++ = (on & where) | (~on & NOWHERE);                         \
			}                                                                         \
}
POOLING(pool8, 1)
POOLING(pool16, 2)

/* Weights [o][c][i][j] as [c][i][j][lane], and back. */
static void to_lanes(const float *w, int outputs, int each, int lanes, float *t)
{
	memset(t, 0, sizeof(float) * each * lanes);
	for (int o = 0; o < outputs; o++)
		for (int e = 0; e < each; e++)
			t[e * lanes + o] = w[o * each + e];
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

/* The convolutions' weights as the loops want them. */
struct weights {
	v8 w1[MOST_CHANNELS * K * K], b1; /* [c][i][j][lane of o] */
	v8 w2[C1 * K * K][2], b2[2];
	v8 w2_back[C2][K * K];            /* [o][i][j][lane of c] */
};

/* Their gradients: a row of eight (five count) for conv1, lanes of c for conv2. */
struct gradients {
	v8 w1[C1][MOST_CHANNELS * K];
	v8 w2[C2][K * K];
	float b1[C1], b2[C2];
};

static void arrange(struct weights *t, const float *w, struct layout l, int channels)
{
	to_lanes(w + l.w1, C1, channels * K * K, 8, (float *)t->w1);
	to_lanes(w + l.b1, C1, 1, 8, (float *)&t->b1);
	to_lanes(w + l.w2, C2, C1 * K * K, 16, (float *)t->w2);
	to_lanes(w + l.b2, C2, 1, 16, (float *)t->b2);
	for (int o = 0; o < C2; o++)
		to_lanes(w + l.w2 + o * C1 * K * K, C1, K * K, 8, (float *)t->w2_back[o]);
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
	memcpy(gradient + l.b1, g->b1, sizeof(g->b1));
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

static void forward(struct sample *s, const struct weights *t, const float *w, struct layout l,
		    int channels, int classes)
{
	v8 y1[A1 * A1], y2[A2 * A2][2], pooled[P2 * P2][2];
	float p1[C1 * P1 * P1]; /* [c][y][x] */

	convolve8(s->x, channels, IN, A1, t->w1, &t->b1, y1);
	pool8(y1, A1, s->p1, s->from1);
	from_lanes((const float *)s->p1, C1, P1 * P1, 8, p1);
	convolve16(p1, C1, P1, A2, &t->w2[0][0], t->b2, &y2[0][0]);
	pool16(&y2[0][0], A2, &pooled[0][0], &s->from2[0][0]);
	from_lanes((const float *)pooled, C2, P2 * P2, 16, s->h0);
	layer(w + l.f1, w + l.c1, s->h0, H0, H1, s->h1, 1);
	layer(w + l.f2, w + l.c2, s->h1, H1, H2, s->h2, 1);
	layer(w + l.f3, w + l.c3, s->h2, H2, classes, s->out, 0);
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

/*
 * Pooling and ReLU let a gradient through at one pixel of eight or so: the convolutions' way back
 * goes through those, one by one.
 */
static void backward(const struct sample *s, const struct weights *t, int channels,
		     struct gradients *g)
{
	const int32_t *from1 = (const int32_t *)s->from1, *from2 = (const int32_t *)s->from2;
	v8 dp1[P1 * P1] = { 0 };

	for (int o = 0; o < C2; o++)
		for (int p = 0; p < P2 * P2; p++) {
			const int from = from2[p * C2 + o];
			const float d = s->d0[o * P2 * P2 + p];
			if (from == NOWHERE || d == 0)
				continue;
			const int at = (2 * (p / P2) + from / 2) * P1 + 2 * (p % P2) + from % 2;
			g->b2[o] += d;
			for (int i = 0; i < K; i++)
				for (int j = 0; j < K; j++) {
					g->w2[o][i * K + j] += d * s->p1[at + i * P1 + j];
					dp1[at + i * P1 + j] += d * t->w2_back[o][i * K + j];
				}
		}
	for (int p = 0; p < P1 * P1; p++)
		for (int o = 0; o < C1; o++) {
			const int from = from1[p * 8 + o];
			const float d = ((const float *)dp1)[p * 8 + o];
			if (from == NOWHERE || d == 0)
				continue;
			const int y = 2 * (p / P1) + from / 2, x = 2 * (p % P1) + from % 2;
			g->b1[o] += d;
			for (int c = 0; c < channels; c++)
				for (int i = 0; i < K; i++)
					g->w1[o][c * K + i] +=
						d * *(const v8 *)(s->x + (c * IN + y + i) * IN + x);
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
	const int edge = (IN - size) / 2;

	for (int c = 0; c < channels; c++)
		for (int y = 0; y < size; y++)
			memcpy(s->x + (c * IN + y + edge) * IN + edge, image + (c * size + y) * size,
			       sizeof(float) * size);
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
	struct sample *s = aligned_alloc(64, (sizeof(*s) + 63) / 64 * 64);
	struct weights *t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);
	const int can = s && t && possible(channels, size, classes);

	if (can) {
		memset(s, 0, sizeof(*s));
		arrange(t, params, l, channels);
		for (int64_t n = 0; n < count; n++) {
			place(s, images + n * channels * size * size, channels, size);
			forward(s, t, params, l, channels, classes);
			memcpy(outputs + n * classes, s->out, sizeof(float) * classes);
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
	struct sample *samples = aligned_alloc(64, (sizeof(struct sample) * batch + 63) / 64 * 64);
	struct weights *t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);
	struct gradients *g = aligned_alloc(64, (sizeof(*g) + 63) / 64 * 64);
	float *gradient = calloc(l.all, sizeof(float)), *velocity = calloc(l.all, sizeof(float));
	double loss = NAN;

	if (!samples || !t || !g || !gradient || !velocity || batch < 1 ||
	    !possible(channels, size, classes))
		goto end;
	memset(samples, 0, sizeof(struct sample) * batch);
	for (int64_t epoch = 0; epoch < epochs; epoch++) {
		loss = 0;
		for (int64_t first = 0; first < count; first += batch) {
			const int64_t left = count - first, here = left < batch ? left : batch;
			arrange(t, params, l, channels);
			memset(g, 0, sizeof(*g));
			for (int64_t n = 0; n < here; n++) {
				const int64_t index = order[epoch * count + first + n];
				const float *image = images + index * channels * size * size;
				struct sample *s = samples + n;
				place(s, image, channels, size);
				forward(s, t, params, l, channels, classes);
				loss += entropy(s, classes, labels[index], here);
				layer_back(params + l.f3, s->dout, s->h2, H2, classes, s->d2);
				layer_back(params + l.f2, s->d2, s->h1, H1, H2, s->d1);
				layer_back(params + l.f1, s->d1, s->h0, H0, H1, s->d0);
				backward(s, t, channels, g);
			}
			collect(g, l, channels, gradient);
#define GRADIENT(D, IN_, W, B, I, O)                                                               \
	layer_gradient(samples, here, offsetof(struct sample, D), offsetof(struct sample, IN_), I, \
		       O, gradient + l.W, gradient + l.B)
			GRADIENT(d1, h0, f1, c1, H0, H1);
			GRADIENT(d2, h1, f2, c2, H1, H2);
			GRADIENT(dout, h2, f3, c3, H2, classes);
			for (long k = 0; k < l.all; k++) {
				velocity[k] = momentum * velocity[k] + gradient[k] + decay * params[k];
				params[k] -= rate * velocity[k];
			}
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
