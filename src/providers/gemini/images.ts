/**
 * Image generation: Imagen by `predict` (ai.google.dev/gemini-api/docs/imagen), Gemini's image models by
 * `generateContent` (ai.google.dev/gemini-api/docs/image-generation).
 */
import { brokenProtocol, GatewayError } from '../../core/errors.ts'
import type { ImagesRequest, ImagesResult } from '../../core/hub/images.ts'
import { isObject, objectsOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { generateResult } from './read.ts'
import type { GeminiBody } from './request.ts'

const imagenRatios = ['1:1', '3:4', '4:3', '9:16', '16:9']
const geminiRatios = [...imagenRatios, '2:3', '3:2', '4:5', '5:4', '21:9']
const imagenCountMax = 4

/** true = the model is called by `predict`, not by `generateContent`. */
export const isImagen = (model: string): boolean => model.includes('imagen')

/** The body for either kind of model. Throws `invalid-request` for a malformed `size`, and for `n` above Imagen's. */
export function imagesBody(request: ImagesRequest, model: string): GeminiBody {
  const dropped = Object.entries({
    quality: request.quality === 'auto' ? undefined : request.quality,
    style: request.style,
    background: request.background === 'auto' ? undefined : request.background,
    user: request.user,
  }).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  const imagen = isImagen(model)
  const shape = aspectRatio(request.size, imagen ? imagenRatios : geminiRatios)
  if (shape && !shape.exact) dropped.push('size')
  const body = imagen ? imagenBody(request, shape?.ratio, dropped) : geminiBody(request, shape?.ratio, dropped)
  return { body, dropped }
}

function imagenBody(request: ImagesRequest, ratio: string | undefined, dropped: string[]): Json {
  const { count = 1, outputFormat } = request
  if (count > imagenCountMax)
    throw new GatewayError(
      'invalid-request',
      `this model paints 1 to ${imagenCountMax} pictures a call; got n = ${count}`,
      { param: 'n' },
    )
  const parameters: Json = { sampleCount: count, ...(ratio !== undefined && { aspectRatio: ratio }) }
  if (outputFormat === 'png' || outputFormat === 'jpeg')
    parameters.outputOptions = { mimeType: `image/${outputFormat}` }
  else if (outputFormat !== undefined) dropped.push('output_format')
  for (const [name, value] of Object.entries(request.extra.fields)) {
    const known = imagenParameters.get(name)
    if (known === undefined) dropped.push(name)
    else parameters[known] = value
  }
  return { instances: [{ prompt: request.prompt }], parameters }
}

/** Imagen's own parameters, in snake case and camel case. */
const imagenParameters: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    negative_prompt: 'negativePrompt',
    negativePrompt: 'negativePrompt',
    person_generation: 'personGeneration',
    personGeneration: 'personGeneration',
    image_size: 'imageSize',
    imageSize: 'imageSize',
    seed: 'seed',
  }),
)

function geminiBody(request: ImagesRequest, ratio: string | undefined, dropped: string[]): Json {
  // These models generate one image per answer.
  if ((request.count ?? 1) > 1) dropped.push('n')
  if (request.outputFormat !== undefined && request.outputFormat !== 'png') dropped.push('output_format')
  const { image_size, imageSize = image_size, ...others } = request.extra.fields
  dropped.push(...Object.keys(others))
  const imageConfig: Json = {
    ...(ratio !== undefined && { aspectRatio: ratio }),
    ...(imageSize !== undefined && { imageSize }),
  }
  return {
    contents: [{ role: 'user', parts: [{ text: request.prompt }] }],
    generationConfig: {
      responseModalities: ['TEXT', 'IMAGE'],
      ...(Object.keys(imageConfig).length > 0 && { imageConfig }),
    },
  }
}

interface Shape {
  readonly ratio: string
  /** The requested size has exactly this ratio. */
  readonly exact: boolean
}

/** The nearest supported aspect ratio to a size such as `1536x1024`; undefined = the model's default. */
function aspectRatio(size: string | undefined, offered: readonly string[]): Shape | undefined {
  if (size === undefined || size === 'auto') return undefined
  const sides = /^(\d{1,5})x(\d{1,5})$/.exec(size)
  const requestedRatio = sides ? Number(sides[1]) / Number(sides[2]) : Number.NaN
  if (!Number.isFinite(requestedRatio) || requestedRatio === 0)
    throw new GatewayError('invalid-request', '`size` must be WIDTHxHEIGHT such as "1024x1024", or "auto"', {
      param: 'size',
    })
  const distance = (ratio: string) => Math.abs(Math.log(ratioValue(ratio) / requestedRatio))
  const ratio = offered.reduce((best, one) => (distance(one) < distance(best) ? one : best))
  return { ratio, exact: distance(ratio) < 0.001 }
}

function ratioValue(ratio: string): number {
  const [width, height] = ratio.split(':').map(Number)
  return width! / height!
}

/**
 * Reads the answer of either kind of model. `createdS` is 0 for Imagen, which reports no time. Throws `content-policy`
 * where every image was filtered, `upstream-failed` for text without an image, `upstream-broken` on another shape.
 */
export function imagesResult(body: unknown): ImagesResult {
  if (isObject(body) && !Array.isArray(body.candidates) && !isObject(body.promptFeedback)) return imagenResult(body)
  const result: ImagesResult = { createdS: 0, images: [] }
  for (const event of generateResult(body)) {
    if (event.type === 'error') throw event.error
    if (event.type === 'image') result.images.push({ source: event.source })
    else if (event.type === 'start') result.createdS = event.createdS ?? 0
    else if (event.type === 'usage') result.usage = event.usage
    else if (event.type === 'finish' && event.reason === 'content-filter' && result.images.length === 0)
      throw filtered('')
  }
  if (result.images.length === 0)
    throw new GatewayError(
      'upstream-failed',
      'the model answered with words instead of a picture; ask again, or with a clearer prompt',
    )
  return { ...result, ...(result.usage && { usage: { ...result.usage, images: result.images.length } }) }
}

/** Filtered images are missing from `predictions`, or have a `raiFilteredReason` instead of data. */
function imagenResult(body: Json): ImagesResult {
  if (body.predictions !== undefined && !Array.isArray(body.predictions)) throw brokenProtocol('no predictions')
  if (body.predictions === undefined && Object.keys(body).length > 0) throw brokenProtocol('no predictions')
  const predictions = objectsOf(body.predictions)
  const generated = predictions.filter(one => textOf(one.bytesBase64Encoded) !== '')
  if (generated.length === 0)
    throw filtered(predictions.map(one => textOf(one.raiFilteredReason)).find(reason => reason !== '') ?? '')
  return {
    createdS: 0,
    images: generated.map(one => ({
      source: { data: textOf(one.bytesBase64Encoded), mediaType: textOf(one.mimeType) || 'image/png' },
      ...(textOf(one.prompt) !== '' && { revisedPrompt: textOf(one.prompt) }),
    })),
    usage: { inputTokens: 0, outputTokens: 0, images: generated.length },
  }
}

function filtered(reason: string): GatewayError {
  return new GatewayError(
    'content-policy',
    `the upstream's filter held back every picture${reason ? `: ${reason}` : ''}`,
    { param: 'prompt' },
  )
}
