/** OpenAI's images: https://platform.openai.com/docs/api-reference/images. Each image has one colour. */
import { ApiError, jsonResponse } from '../response.ts'
import type { SimulatedResponse, StreamEvent } from '../response.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { TokenUsage } from '../../generation/types.ts'
import { namedEvent } from '../stream-events.ts'
import { pngOf } from '../../generation/media.ts'
import { createdS } from './chat.ts'
import { openaiFailure } from './error.ts'
import { hash, randomId, seededRandom } from '../../generation/random.ts'
import type { EndpointHandler, EndpointCall } from '../endpoint.ts'
import { countTokens } from '../../generation/tokens.ts'

const countMax = 10
const partialsMax = 3
/** Billed tokens of an image of medium quality, for models that bill tokens. */
const tokensPerImage = 1056

/** In a form, numbers are text. */
function count(
  value: unknown,
  param: string,
  { least, most, otherwise }: { least: number; most: number; otherwise: number },
): number {
  if (value === undefined || value === null) return otherwise
  const number = Number(value)
  if (Number.isInteger(number) && number >= least && number <= most) return number
  throw new ApiError(`Invalid '${param}': expected an integer from ${least} to ${most}.`, { param })
}

function sizeOf(value: unknown): [number, number] {
  if (value === undefined || value === null || value === 'auto') return [1024, 1024]
  const sides = /^(\d{1,4})x(\d{1,4})$/.exec(String(value))
  if (sides) return [Number(sides[1]), Number(sides[2])]
  throw new ApiError(
    `Invalid value: '${String(value)}'. Supported values are: '1024x1024', '1024x1536', '1536x1024', and 'auto'.`,
    {
      param: 'size',
      code: 'invalid_value',
    },
  )
}

function checkForm({ body, request }: EndpointCall): void {
  const path = request.target.split('?', 1)[0]!
  if (!/\/(?:edits|variations)\/?$/.test(path)) return
  if (body.image === undefined || typeof body.image === 'string')
    throw new ApiError("Missing required parameter: 'image'.", {
      param: 'image',
      code: 'missing_required_parameter',
    })
}

function checkPrompt({ body, request }: EndpointCall): void {
  if (/\/variations\/?$/.test(request.target.split('?', 1)[0]!)) return
  if (typeof body.prompt !== 'string' || body.prompt === '')
    throw new ApiError("Missing required parameter: 'prompt'.", {
      param: 'prompt',
      code: 'missing_required_parameter',
    })
}

function imagesUsage({ inputTokens, outputTokens }: TokenUsage): JsonObject {
  return {
    total_tokens: inputTokens + outputTokens,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    input_tokens_details: { text_tokens: inputTokens, image_tokens: 0 },
  }
}

interface ImageBatch {
  readonly images: readonly Buffer[]
  readonly usage: JsonObject | undefined
  readonly billable: { inputTokens: number; outputTokens: number }
  readonly common: JsonObject
}

function generateBatch({ body, model, seed, usageOf }: EndpointCall): ImageBatch {
  const prompt = String(body.prompt ?? '')
  const wanted = count(body.n, 'n', { least: 1, most: countMax, otherwise: 1 })
  const [width, height] = sizeOf(body.size)
  const random = seededRandom(hash(`${model}\n${prompt}`, seed))
  const images = Array.from({ length: wanted }, () => pngOf(random, width, height))
  const billable = { inputTokens: countTokens(prompt), outputTokens: wanted * tokensPerImage }
  const usage = usageOf(imagesUsage)({
    ...billable,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    cacheWriteOneHourTokens: 0,
    reasoningTokens: 0,
  })
  const common = { size: `${width}x${height}`, quality: 'medium', background: 'opaque', output_format: 'png' }
  return { images, usage, billable, common }
}

function* imageEvents(batch: ImageBatch, partials: number, kind: string): Generator<StreamEvent> {
  const [image] = batch.images
  const about = { ...batch.common, created_at: createdS, b64_json: image!.toString('base64') }
  for (let at = 0; at < partials; at++)
    yield namedEvent({ type: `${kind}.partial_image`, partial_image_index: at, ...about }, 'delta')
  yield namedEvent(
    { type: `${kind}.completed`, ...about, ...(batch.usage && { usage: batch.usage }) },
    'finish',
    batch.billable.outputTokens,
  )
}

/** dall-e models return URLs unless `b64_json` is asked for. The host does not exist (RFC 6761, `.invalid`). */
function imageEntry(image: Buffer, { body, model, seed }: EndpointCall): JsonObject {
  const isOld = model.includes('dall-e')
  const id = randomId(seededRandom(hash(image.toString('latin1'), seed)), 24)
  const revised = isOld ? { revised_prompt: `${String(body.prompt ?? '')}, in one colour` } : {}
  if (isOld && body.response_format !== 'b64_json') return { ...revised, url: `https://images.invalid/${id}.png` }
  return { ...revised, b64_json: image.toString('base64') }
}

/** Generations, edits and variations. Throws ApiError. */
export const openaiImages: EndpointHandler = call => {
  checkForm(call)
  checkPrompt(call)
  const { body, model, request } = call
  const batch = generateBatch(call)
  if (body.stream === true || body.stream === 'true') {
    const partials = count(body.partial_images, 'partial_images', {
      least: 0,
      most: partialsMax,
      otherwise: 0,
    })
    const kind = request.target.includes('/edits') ? 'image_edit' : 'image_generation'
    const content = imageEvents(batch, partials, kind)
    return {
      status: 200,
      headers: [],
      content,
      billable: batch.billable,
      failure: openaiFailure,
    } satisfies SimulatedResponse
  }
  const byTokens = !model.includes('dall-e')
  return jsonResponse(
    {
      created: createdS,
      ...(byTokens && batch.common),
      data: batch.images.map(image => imageEntry(image, call)),
      ...(byTokens && batch.usage && { usage: batch.usage }),
    },
    batch.billable,
  )
}
