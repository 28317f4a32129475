/** A group of endpoints that is loaded at the first request for one of them. */
import type { Endpoint } from '../../core/endpoint.ts'
import { assistantEndpoints } from '../stored-objects/assistants.ts'
import { batchEndpoints } from '../stored-objects/batches.ts'
import { answerEndpoints } from '../stored-objects/conversation-answers.ts'
import { conversationEndpoints } from '../stored-objects/conversations.ts'
import { fileEndpoints } from '../stored-objects/files.ts'
import { runEndpoints } from '../stored-objects/runs.ts'
import { threadEndpoints } from '../stored-objects/threads.ts'

/** Assistants, threads, runs, conversations, files, batches: what is kept between calls. */
export const endpoints: readonly Endpoint[] = [
  ...assistantEndpoints,
  ...threadEndpoints,
  ...runEndpoints,
  ...conversationEndpoints,
  ...answerEndpoints,
  ...fileEndpoints,
  ...batchEndpoints,
]
