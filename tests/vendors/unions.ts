/** The words that vendors' packages know, as the members of their union types. */
import type { Schema } from './type-shapes.ts'
import { typeShapes } from './type-shapes.ts'

const source = `
import type { ChatModel, ResponsesModel } from 'openai/resources/shared'
import type { ChatCompletion } from 'openai/resources/chat/completions'
import type { Completion } from 'openai/resources/completions'
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses'
import type { ChatCompletion as GroqCompletion, ChatCompletionCreateParams } from 'groq-sdk/resources/chat/completions'
import type * as beta from '@anthropic-ai/sdk/resources/beta/messages/messages'
import type { Model } from '@anthropic-ai/sdk/resources/messages/messages'
import type { ChatCompletionChoiceFinishReason as Mistral } from '@mistralai/mistralai/models/components/chatcompletionchoice.js'
import type { Cohere } from 'cohere-ai'
import type * as google from 'google-genai-v3'
export type OpenaiFinish = ChatCompletion.Choice['finish_reason'] | Completion['choices'][number]['finish_reason']
export type ResponsesIncomplete = NonNullable<NonNullable<Response['incomplete_details']>['reason']>
export type ResponsesEvent = ResponseStreamEvent['type']
export type OpenaiModel = ChatModel | ResponsesModel
export type GroqFinish = GroqCompletion.Choice['finish_reason']
export type GroqModel = ChatCompletionCreateParams['model']
export type AnthropicFinish = beta.BetaStopReason
export type AnthropicEvent = beta.BetaRawMessageStreamEvent['type']
export type AnthropicDelta = beta.BetaRawContentBlockDelta['type']
export type AnthropicBlock = beta.BetaContentBlock['type']
export type AnthropicModel = Model
export type MistralFinish = Mistral
export type CohereFinish = Cohere.ChatFinishReason
export type CohereEvent = Cohere.V2ChatStreamResponse['type']
export type GeminiFinish = \`\${google.FinishReason}\`
export type GeminiPart = keyof google.Part
`
const packages = ['openai', 'groq-sdk', '@anthropic-ai/sdk', '@mistralai/mistralai', 'cohere-ai', 'google-genai-v3']

/** A union of `source`. */
export type UnionName =
  | `${'Openai' | 'Groq' | 'Anthropic' | 'Mistral' | 'Cohere' | 'Gemini'}Finish`
  | `${'Openai' | 'Groq' | 'Anthropic'}Model`
  | `${'Responses' | 'Anthropic' | 'Cohere'}Event`
  | 'ResponsesIncomplete'
  | 'AnthropicDelta'
  | 'AnthropicBlock'
  | 'GeminiPart'

/** Its literal members. Throws for a type that has none: a package has renamed it. */
export function membersOf(name: UnionName): string[] {
  const members = literalsIn(typeShapes(source, packages).types[name]!)
  if (members.length === 0) throw new Error(`${name} has no members any more`)
  return [...new Set(members)]
}

function literalsIn(schema: Schema): string[] {
  if (typeof schema.const === 'string') return [schema.const]
  if (Array.isArray(schema.enum)) return schema.enum.filter(one => typeof one === 'string')
  return Array.isArray(schema.anyOf) ? (schema.anyOf as Schema[]).flatMap(literalsIn) : []
}
