/** Every family of answers. */
import { anthropicFamily } from './anthropic.ts'
import { bedrockFamily } from './bedrock.ts'
import { cohereFamily } from './cohere.ts'
import type { AnswerFamily } from './family.ts'
import { geminiFamily } from './gemini.ts'
import { mistralFamily } from './mistral.ts'
import { ollamaFamily } from './ollama.ts'
import { openaiFamily } from './openai.ts'
import { responsesFamily } from './responses.ts'

export type { AnswerFamily, AnswerFixture } from './family.ts'

export const families: readonly AnswerFamily[] = [
  openaiFamily,
  responsesFamily,
  anthropicFamily,
  geminiFamily,
  cohereFamily,
  mistralFamily,
  ollamaFamily,
  bedrockFamily,
]
