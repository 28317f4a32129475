/** Pictures (OpenAI API reference, "Images"). */
import {
  constant,
  described,
  either,
  integer,
  json,
  jsonOrEvents,
  listOf,
  named,
  shape,
  text,
  unixSeconds,
} from '../../openapi/schema.ts'
import type { Properties, Schema, Success } from '../../openapi/schema.ts'
import { base64, tokenCounts } from './audio.ts'
import { errorSchema } from '../../openapi/errors.ts'

const look = { size: text, quality: text, background: text, output_format: text }

const imageEvent = (type: string, fields: Properties, optional = {}): Schema =>
  shape({ type: constant(type), ...fields }, { ...look, created_at: unixSeconds, ...optional })

const imageEvents = (kind: string): Schema[] => [
  imageEvent(`${kind}.partial_image`, { b64_json: base64 }, { partial_image_index: integer }),
  imageEvent(`${kind}.completed`, { b64_json: base64 }, { usage: imagesUsageSchema }),
]

const imagesUsageSchema = named('ImagesUsage', () =>
  shape(tokenCounts, {
    input_tokens_details: shape({}, { text_tokens: integer, image_tokens: integer }),
    output_tokens_details: shape({}, { text_tokens: integer, image_tokens: integer }),
  }),
)

const imagesSchema = named('Images', () =>
  shape(
    {
      created: unixSeconds,
      data: listOf(
        shape(
          {},
          {
            url: described('It is an address, or a `data:` URL.', text),
            b64_json: base64,
            revised_prompt: text,
          },
        ),
      ),
    },
    { ...look, usage: imagesUsageSchema },
  ),
)

const imageStreamSchema = named('ImageStream', () =>
  either(...imageEvents('image_generation'), ...imageEvents('image_edit'), errorSchema),
)

/** Pictures are answered whole or as events. */
export const generations: Success = jsonOrEvents(imagesSchema, imageStreamSchema)
/** Edited pictures are answered like new ones. */
export const edits: Success = jsonOrEvents(imagesSchema, imageStreamSchema)
/** Variations are answered whole. */
export const variations: Success = json(imagesSchema)
