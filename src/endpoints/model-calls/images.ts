import { defaultModel } from '../../access/models/default-model.ts'
import { bodySchema } from '../../core/dialects/fields.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import type { Format } from '../../core/format.ts'
import { openaiImageEdits, openaiImages, openaiImageVariations } from '../../formats/index.ts'
import { editTable, generationTable, variationTable } from '../../formats/openai/images.ts'
import { named } from '../openapi/schema.ts'

interface Operation {
  readonly name: 'generations' | 'edits' | 'variations'
  readonly operationId: string
  readonly format: Format
  readonly summary: string
  /** What its body is. */
  readonly request: object
}

function endpoint({ name, operationId, format, summary, request }: Operation): Endpoint {
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
      request,
      ...(name !== 'generations' && { requestType: 'multipart/form-data' }),
      success: async () => (await import('./answers/images.ts'))[name],
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
  request: named('ImageRequest', () => bodySchema(generationTable.fields)),
})

/** "Create image edit": a form with the images, the prompt, and optionally a mask. */
export const imageEdits = endpoint({
  name: 'edits',
  operationId: 'editImage',
  format: openaiImageEdits,
  summary: 'Edit pictures',
  request: named('ImageEditRequest', () => bodySchema(editTable.fields, { nullable: false })),
})

/** "Create image variation": a form with one image and no prompt. */
export const imageVariations = endpoint({
  name: 'variations',
  operationId: 'createImageVariation',
  format: openaiImageVariations,
  summary: 'Make variations of a picture',
  request: named('ImageVariationRequest', () => bodySchema(variationTable.fields, { nullable: false })),
})
