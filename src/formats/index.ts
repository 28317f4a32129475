/** Every dialect that clients may write. */
export { anthropicCountTokens, anthropicMessages } from './anthropic-messages.ts'
export { cursorChat } from './cursor-chat.ts'
export { openaiChat } from './openai-chat.ts'
export { openaiCompletions } from './openai-completions.ts'
export { openaiEmbeddings } from './openai-embeddings.ts'
export { openaiImageEdits, openaiImages, openaiImageVariations } from './openai-images.ts'
export { openaiModerations } from './openai-moderations.ts'
export { openaiSpeech } from './openai-speech.ts'
export { openaiTranscriptions, openaiTranslations } from './openai-transcriptions.ts'
export { openaiInputTokens, openaiResponses } from './openai-responses.ts'
export {
  geminiBatchEmbedContents,
  geminiCountTokens,
  geminiEmbedContent,
  geminiGenerate,
  geminiGenerateArray,
} from './gemini.ts'
export { cohereRerank, jinaRerank } from './rerank.ts'
