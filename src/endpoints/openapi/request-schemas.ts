/**
 * Request bodies of the OpenAPI document. Those of the dialects follow from the tables by which bodies are checked
 * (core/dialects/fields.ts).
 */
import { bodySchema } from '../../core/dialects/fields.ts'
import { chatTable } from '../../formats/openai/chat/fields.ts'
import { completionTable } from '../../formats/openai/completions/index.ts'
import { embeddingsTable } from '../../formats/openai/embeddings.ts'
import { editTable, generationTable, variationTable } from '../../formats/openai/images.ts'
import { moderationTable } from '../../formats/openai/moderations.ts'
import { speechTable } from '../../formats/openai/speech.ts'
import { transcriptionTable, translationTable } from '../../formats/openai/transcriptions.ts'
import { listOf, text } from './schema.ts'

const object = (properties: object, required: string[] = []) => ({ type: 'object', properties, required })

const utilitySchemas: Readonly<Record<string, object>> = {
  TokenCountRequest: object(
    {
      model: text,
      prompt: { anyOf: [text, listOf(text), { type: 'null' }] },
      messages: {
        anyOf: [listOf({ type: 'object' }), { type: 'null' }],
        description: "OpenAI's or Anthropic's; one of prompt, messages and contents.",
      },
      contents: { anyOf: [listOf({ type: 'object' }), { type: 'null' }], description: "Gemini's." },
      system: {
        anyOf: [text, listOf({ type: 'object' }), { type: 'null' }],
        description: "Anthropic's, beside messages.",
      },
      tools: { anyOf: [listOf({ type: 'object' }), { type: 'null' }] },
    },
    ['model'],
  ),
  TransformRequest: object({ call_type: { ...text, examples: ['acompletion'] }, request_body: { type: 'object' } }, [
    'call_type',
    'request_body',
  ]),
}

/** A form has no null. */
const form = { nullable: false }

/** By the names under `#/components/schemas/`. */
export const requestSchemas: Readonly<Record<string, object>> = {
  ChatCompletionRequest: bodySchema(chatTable.fields),
  CompletionRequest: bodySchema(completionTable.fields),
  EmbeddingsRequest: bodySchema(embeddingsTable.fields),
  ModerationRequest: bodySchema(moderationTable.fields),
  ImageRequest: bodySchema(generationTable.fields),
  ImageEditRequest: bodySchema(editTable.fields, form),
  ImageVariationRequest: bodySchema(variationTable.fields, form),
  SpeechRequest: bodySchema(speechTable.fields),
  TranscriptionRequest: bodySchema(transcriptionTable.fields, form),
  TranslationRequest: bodySchema(translationTable.fields, form),
  ...utilitySchemas,
}
