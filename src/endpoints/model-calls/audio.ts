import { bodySchema } from '../../core/dialects/fields.ts'
import type { Endpoint, EndpointDoc } from '../../core/endpoint.ts'
import type { Format } from '../../core/format.ts'
import { openaiSpeech, openaiTranscriptions, openaiTranslations } from '../../formats/index.ts'
import { speechTable } from '../../formats/openai/speech.ts'
import { transcriptionTable, translationTable } from '../../formats/openai/transcriptions.ts'
import { named } from '../openapi/schema.ts'

function endpoint(
  name: 'speech' | 'transcriptions' | 'translations',
  format: Format,
  doc: Omit<EndpointDoc, 'tag' | 'success'>,
): Endpoint {
  return {
    method: 'POST',
    paths: [
      `/audio/${name}`,
      `/v1/audio/${name}`,
      `/openai/v1/audio/${name}`,
      `/openai/deployments/{model+}/audio/${name}`,
    ],
    auth: 'key',
    doc: {
      ...doc,
      tag: 'Audio',
      success: async () => (await import('./answers/audio.ts'))[name],
      callsModel: true,
    },
    handle: (request, services, caller) =>
      services.callModel(request, caller!, { format, route: `/v1/audio/${name}`, model: request.params.model }),
  }
}

/** OpenAI API reference, "Create speech". */
export const speech = endpoint('speech', openaiSpeech, {
  operationId: 'createSpeech',
  summary: 'Make speech from text',
  request: named('SpeechRequest', () => bodySchema(speechTable.fields)),
})

/**
 * OpenAI API reference, "Create transcription": a form with the audio in `file`; answers text, JSON or events.
 */
export const transcriptions = endpoint('transcriptions', openaiTranscriptions, {
  operationId: 'createTranscription',
  summary: 'Make text from speech',
  request: named('TranscriptionRequest', () => bodySchema(transcriptionTable.fields, { nullable: false })),
  requestType: 'multipart/form-data',
})

/** OpenAI API reference, "Create translation": as a transcription, but the text is always English. */
export const translations = endpoint('translations', openaiTranslations, {
  operationId: 'createTranslation',
  summary: 'Make English text from speech',
  request: named('TranslationRequest', () => bodySchema(translationTable.fields, { nullable: false })),
  requestType: 'multipart/form-data',
})
