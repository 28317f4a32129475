/** The bodies that vendors take, by the types of their own packages for npm. */
import { shapeDeviations } from './check-shape.ts'
import { typeShapes } from './type-shapes.ts'

/**
 * Gemini's package has the parts of the body under their names on the wire, but no type of the whole: that is
 * ai.google.dev/api/generate-content, "Request body" (2026-11-23). `imageConfig` is among the settings of the call
 * there.
 */
const source = `
import type { ChatCompletionCreateParams as OpenaiChat } from 'openai/resources/chat/completions'
import type { ResponseCreateParams as OpenaiResponse } from 'openai/resources/responses/responses'
import type { ChatCompletionCreateParams as GroqBody } from 'groq-sdk/resources/chat/completions'
import type { MessageCreateParams as AnthropicBody } from '@anthropic-ai/sdk/resources/messages/messages'
import type { V2ChatRequest } from '../node_modules/cohere-ai/serialization/resources/v2/client/requests/V2ChatRequest'
import type * as google from 'google-genai-v3'
export type OpenaiChatBody = OpenaiChat
export type OpenaiResponseBody = OpenaiResponse
export type GroqChatBody = GroqBody
export type AnthropicMessage = AnthropicBody
export type CohereChat = V2ChatRequest.Raw & { stream?: boolean }
export type GeminiContent = {
  contents: google.Content[]
  systemInstruction?: google.Content
  tools?: google.Tool[]
  toolConfig?: google.ToolConfig
  safetySettings?: google.SafetySetting[]
  generationConfig?: google.GenerationConfig & Pick<google.GenerateContentConfig, 'imageConfig'>
  cachedContent?: string
  serviceTier?: google.GenerateContentConfig['serviceTier']
  labels?: Record<string, string>
}
`
const packages = ['openai', 'groq-sdk', '@anthropic-ai/sdk', 'cohere-ai', 'google-genai-v3']

/** A type of `source`. */
export type VendorType =
  | 'OpenaiChatBody'
  | 'OpenaiResponseBody'
  | 'GroqChatBody'
  | 'AnthropicMessage'
  | 'CohereChat'
  | 'GeminiContent'

/** How `body` deviates from the type; empty = it does not. */
export function typeDeviations(type: VendorType, body: unknown): string[] {
  const { types, $defs } = typeShapes(source, packages)
  return shapeDeviations(types[type]!, $defs, body)
}
