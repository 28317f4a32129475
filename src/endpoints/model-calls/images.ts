import { defaultModel } from '../../access/models/default-model.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import type { Format } from '../../core/format.ts'
import { openaiImageEdits, openaiImages, openaiImageVariations } from '../../formats/index.ts'
import { json, jsonOrEvents, reference } from '../openapi/schema.ts'

interface Operation {
  readonly name: 'generations' | 'edits' | 'variations'
  readonly operationId: string
  readonly format: Format
  readonly summary: string
  readonly schema: string
}

function endpoint({ name, operationId, format, summary, schema }: Operation): Endpoint {
  return {
    method: 'POST',
    paths: [
      `/images/${name}`,
      `/v1/images/${name}`,
      `/openai/v1/images/${name}`,
      `/openai/deployments/{model+}/images/${name}`,
    ],
    auth: 'key',
    doc: {
      operationId,
      summary,
      tag: 'Images',
      request: { $ref: `#/components/schemas/${schema}` },
      ...(name !== 'generations' && { requestType: 'multipart/form-data' }),
      success:
        name === 'variations' ? json(reference('Images')) : jsonOrEvents(reference('Images'), reference('ImageStream')),
      callsModel: true,
    },
    handle: (request, services, caller) =>
      services.callModel(request, caller!, {
        format,
        route: `/v1/images/${name}`,
        model: request.params.model,
        defaultModel: () => defaultModel(services.current.models, caller!, 'image_generation'),
      }),
  }
}

/**
 * OpenAI API reference, "Images". Without `model` the configured one is called (`image_generation_model`), else the
 * first model of mode `image_generation` that the key may use. Edits and variations are forms and go only to upstreams
 * that support them.
 */
export const images = endpoint({
  name: 'generations',
  operationId: 'createImage',
  format: openaiImages,
  summary: 'Make pictures from a description',
  schema: 'ImageRequest',
})
/** "Create image edit": a form with the images, the prompt, and optionally a mask. */
export const imageEdits = endpoint({
  name: 'edits',
  operationId: 'editImage',
  format: openaiImageEdits,
  summary: 'Edit pictures',
  schema: 'ImageEditRequest',
})
/** "Create image variation": a form with one image and no prompt. */
export const imageVariations = endpoint({
  name: 'variations',
  operationId: 'createImageVariation',
  format: openaiImageVariations,
  summary: 'Make variations of a picture',
  schema: 'ImageVariationRequest',
})
