/**
 * What servers of models say that people run themselves. Several answer with 500 where the request is at fault: their
 * words decide.
 */
import { saidBy } from './refusal-rows.ts'
import type { Refusal } from './refusal-rows.ts'

const llamaError = (code: number, type: string, message: string) => ({ error: { code, message, type } })
const vllmError = (code: number, type: string, message: string) => ({ error: { message, type, param: null, code } })

/** llama.cpp's `llama-server`, and llamafile, which is built from it. */
const llamaServer = saidBy(
  'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-context.cpp',
  '2026-11-28',
  [
    {
      kind: 'too-long',
      codes: ['exceed_context_size_error'],
      words: new RegExp(
        'exceeds the available context size|is larger than the max context size|context size has been exceeded|' +
          'is too large to process. increase the physical batch size',
        'i',
      ),
      example: {
        status: 400,
        body: llamaError(
          400,
          'exceed_context_size_error',
          'request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it',
        ),
      },
    },
    {
      kind: 'too-long',
      example: {
        status: 500,
        body: llamaError(
          500,
          'server_error',
          'input (3001 tokens) is too large to process. increase the physical batch size (current batch size: 512)',
        ),
      },
    },
    {
      kind: 'bad-input',
      codes: ['not_supported_error'],
      words:
        /(?:image|audio|video) input is not supported|failed to (?:load|decode) image|not compiled for multimodal/i,
      example: {
        status: 500,
        body: llamaError(
          500,
          'server_error',
          'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
        ),
      },
    },
    {
      kind: 'overloaded',
      words: /^loading model$/i,
      example: { status: 503, body: llamaError(503, 'unavailable_error', 'Loading model') },
    },
    {
      kind: 'bad-key',
      example: { status: 401, body: llamaError(401, 'authentication_error', 'Invalid API Key') },
    },
  ],
)

const vllm = saidBy('https://github.com/vllm-project/vllm/tree/main/vllm/entrypoints/openai', '2026-11-28', [
  {
    kind: 'too-long',
    words: /longer than the maximum model length of|maximum context length of [\d,]+/i,
    example: {
      status: 400,
      body: vllmError(
        400,
        'BadRequestError',
        'The decoder prompt (length 8357) is longer than the maximum model length of 8192.',
      ),
    },
  },
  {
    kind: 'bad-input',
    words: new RegExp(
      'is not a multimodal model|at most \\d+ (?:image|audio|video)\\S* may be provided in one prompt|' +
        'cannot identify image file|failed to load image',
      'i',
    ),
    example: { status: 500, body: vllmError(500, 'InternalServerError', 'acme/m is not a multimodal model') },
  },
  {
    kind: 'unknown-model',
    words: /^the model `[^`]+` does not exist\.?$/i,
    example: { status: 404, body: vllmError(404, 'NotFoundError', 'The model `m` does not exist.') },
  },
  { kind: 'bad-key', example: { status: 401, body: { error: 'Unauthorized' } } },
])

/** text-generation-inference. */
const textGeneration = saidBy('https://github.com/huggingface/text-generation-inference/issues/628', '2026-11-28', [
  {
    kind: 'too-long',
    words: /`?inputs`? (?:tokens \+ `?max_new_tokens`? must be <=|must have less than)/i,
    example: {
      status: 422,
      body: {
        error:
          'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1244 `inputs` tokens ' +
          'and 1000 `max_new_tokens`',
        error_type: 'validation',
      },
    },
  },
  {
    kind: 'overloaded',
    codes: ['overloaded'],
    example: { status: 429, body: { error: 'Model is overloaded', error_type: 'overloaded' } },
  },
])

const ollama = saidBy('https://github.com/ollama/ollama/tree/main/server', '2026-11-28', [
  {
    kind: 'too-long',
    words: /prompt too long; exceeded (?:max )?context length|input length exceeds the context length/i,
    example: { status: 400, body: { error: 'prompt too long; exceeded max context length by 100918 tokens' } },
  },
  {
    kind: 'bad-input',
    words: /missing data required for image input|failed to load image or audio file/i,
    example: { status: 500, body: { error: 'this model is missing data required for image input' } },
  },
  {
    kind: 'unknown-model',
    words: /^model ['"`][^'"`]+['"`] not found/i,
    example: { status: 404, body: { error: "model 'gemma9' not found" } },
  },
  {
    kind: 'overloaded',
    words: /^server busy, please try again/i,
    example: { status: 503, body: { error: 'server busy, please try again. maximum pending requests exceeded' } },
  },
  { kind: 'bad-key', example: { status: 401, body: { error: 'unauthorized' } } },
])

/** Its errors are plain sentences, some of them inside of a 200. */
const lmStudio = saidBy('https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2322', '2026-11-28', [
  {
    kind: 'too-long',
    words: /greater than the context length|when context the overflows|loaded with context length of only/i,
    example: {
      status: 400,
      body: {
        error:
          'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= ' +
          'n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
      },
    },
  },
  {
    kind: 'bad-input',
    words: /model does not support images/i,
    example: { status: 400, body: { error: 'Model does not support images. Please use a model that does.' } },
  },
])

/** By the names of the catalogue. */
export const localRefusals: Readonly<Record<string, readonly Refusal[]>> = {
  llamafile: llamaServer,
  hosted_vllm: vllm,
  huggingface: textGeneration,
  ollama,
  lm_studio: lmStudio,
}
