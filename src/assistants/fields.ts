/** Fields of assistants, threads and runs (OpenAI API reference, "Assistants", version 2). */
import { z } from 'zod'
import { lazy } from '../lib/lazy.ts'

const toolTypes =
  'must be "function": the gateway runs assistants itself and has no code interpreter and no file search'
const noFiles = 'holds files, which the gateway does not keep for assistants; send their text in a message'
const functionName = lazy(() =>
  z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must have 1 to 64 letters, digits, "_" or "-"'),
)
const json = lazy(() => z.record(z.string(), z.unknown()))
/** true = names no file. */
const isEmpty = (value: unknown): boolean =>
  typeof value !== 'object' || value === null ? value == null : Object.values(value).every(isEmpty)

/** At most 16 pairs, with names of up to 64 characters and texts of up to 512. */
export const metadataField = lazy(() =>
  z
    .record(z.string().max(64), z.string().max(512))
    .refine(pairs => Object.keys(pairs).length <= 16, 'has more than 16 pairs')
    .nullish(),
)

const functionTool = lazy(() =>
  z.strictObject({
    type: z.literal('function'),
    function: z.strictObject({
      name: functionName(),
      description: z.string().optional(),
      parameters: json().optional(),
      strict: z.boolean().nullish(),
    }),
  }),
)

/** At most `most` functions; OpenAI's hosted tools are refused. */
export const toolsField = (most: number) =>
  z
    .array(z.discriminatedUnion('type', [functionTool()], toolTypes))
    .max(most)
    .nullish()

/** Only an object that names no file. */
export const toolResourcesField = lazy(() => json().refine(isEmpty, noFiles).nullish())

/** Only an empty list. */
export const attachmentsField = lazy(() => z.array(z.unknown()).max(0, noFiles).nullish())

const effort = lazy(() => z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'default']))

const formatObject = lazy(() =>
  z.discriminatedUnion(
    'type',
    [
      z.strictObject({ type: z.literal('text') }),
      z.strictObject({ type: z.literal('json_object') }),
      z.strictObject({
        type: z.literal('json_schema'),
        json_schema: z.strictObject({
          name: functionName(),
          description: z.string().optional(),
          schema: json().optional(),
          strict: z.boolean().nullish(),
        }),
      }),
    ],
    'must be "auto" or an object whose `type` is "text", "json_object" or "json_schema"',
  ),
)

/** Sampling fields, on assistants and on runs. */
export const samplingFields = lazy(() => ({
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  response_format: z.union([z.literal('auto'), formatObject()]).nullish(),
  reasoning_effort: effort().nullish(),
}))

/** A public name; `checkModel` says whether the key may call it. */
export const modelField = lazy(() => z.string().min(1).max(256))
/** OpenAI's limit, in characters. */
export const instructionsField = lazy(() => z.string().max(256_000).nullish())

const choices = lazy(() =>
  z.discriminatedUnion(
    'type',
    [z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: functionName() }) })],
    'must be "none", "auto", "required" or {"type": "function", "function": {"name": ...}}',
  ),
)

/** That a named function is among the tools is checked by the call of the model. */
export const toolChoiceField = lazy(() => z.union([z.enum(['none', 'auto', 'required']), choices()]).nullish())

/** `last_messages` = this many of the newest; `auto` = as many as `max_prompt_tokens` allows. */
export const truncationField = lazy(() =>
  z
    .strictObject({ type: z.enum(['auto', 'last_messages']), last_messages: z.number().int().min(1).nullish() })
    .refine(value => value.type === 'auto' || value.last_messages != null, {
      path: ['last_messages'],
      error: 'is missing; say how many messages the model shall see',
    })
    .nullish(),
)
