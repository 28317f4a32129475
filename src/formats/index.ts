/** Every dialect that clients may write. */
export { anthropicCountTokens, anthropicMessages } from './anthropic/index.ts'
export { cursorChat } from './openai/cursor.ts'
export { openaiChat } from './openai/chat/index.ts'
export { openaiCompletions } from './openai/completions/index.ts'
export { openaiEmbeddings } from './openai/embeddings.ts'
export { openaiImageEdits, openaiImages, openaiImageVariations } from './openai/images.ts'
export { openaiModerations } from './openai/moderations.ts'
export { openaiSpeech } from './openai/speech.ts'
export { openaiTranscriptions, openaiTranslations } from './openai/transcriptions.ts'
export { openaiInputTokens, openaiResponses } from './openai/responses/index.ts'
export {
  geminiBatchEmbedContents,
  geminiCountTokens,
  geminiEmbedContent,
  geminiGenerate,
  geminiGenerateArray,
} from './gemini/index.ts'
export { cohereRerank, jinaRerank } from './rerank.ts'
