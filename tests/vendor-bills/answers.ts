/** Whole answers in the wordings of vendors, of which a bill reads the usage. */

/** An answer of OpenAI's Responses. */
export const responsesAnswer = (usage: object, more: object = {}) => ({
  id: 'resp_67ccd2bed1ec8190b14f964abc054267',
  object: 'response',
  status: 'completed',
  model: 'gpt',
  output: [
    {
      type: 'message',
      role: 'assistant',
      id: 'msg_1',
      content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
    },
  ],
  usage,
  ...more,
})

/** An answer of Gemini's. */
export const geminiAnswer = (usageMetadata: object, groundingMetadata?: object) => ({
  candidates: [
    {
      content: { role: 'model', parts: [{ text: 'Hi' }] },
      finishReason: 'STOP',
      index: 0,
      ...(groundingMetadata && { groundingMetadata }),
    },
  ],
  usageMetadata,
  modelVersion: 'gemini',
})

/** An answer of Bedrock's Converse. */
export const converseAnswer = (usage: object, more: object = {}) => ({
  output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } },
  stopReason: 'end_turn',
  usage,
  ...more,
})
