import type { Endpoint } from '../core/endpoint.ts'
import type { Format } from '../core/format.ts'
import { openaiImageEdits, openaiImages, openaiImageVariations } from '../formats/index.ts'

interface Operation {
  readonly name: 'generations' | 'edits' | 'variations'
  readonly format: Format
  readonly summary: string
  readonly schema: string
}

function endpoint({ name, format, summary, schema }: Operation): Endpoint {
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
      summary,
      tag: 'Images',
      request: { $ref: `#/components/schemas/${schema}` },
      ...(name !== 'generations' && { requestType: 'multipart/form-data' }),
      response: { $ref: '#/components/schemas/Images' },
    },
    handle: (request, services, caller) =>
      services.callModel(request, caller!, { format, route: `/v1/images/${name}`, model: request.params.model }),
  }
}

/** OpenAI API reference, "Images". Edits and variations are forms and only go to upstreams that take them. */
export const images = endpoint({
  name: 'generations',
  format: openaiImages,
  summary: 'Make pictures from a description',
  schema: 'ImageRequest',
})
/** "Create image edit": a form with the pictures, what to make of them, and a mask if there is one. */
export const imageEdits = endpoint({
  name: 'edits',
  format: openaiImageEdits,
  summary: 'Edit pictures',
  schema: 'ImageEditRequest',
})
/** "Create image variation": a form with one picture and no words. */
export const imageVariations = endpoint({
  name: 'variations',
  format: openaiImageVariations,
  summary: 'Make variations of a picture',
  schema: 'ImageVariationRequest',
})
