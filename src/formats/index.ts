/** Every dialect that clients may write. */
export { openaiChat } from './openai-chat.ts'
export { openaiCompletions } from './openai-completions.ts'
export { openaiEmbeddings } from './openai-embeddings.ts'
