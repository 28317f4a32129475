/** Files that go with a question: which a model takes, and how they are sent. */
import type { HubModel } from '../../api/model-groups.ts'
import { t } from '../chat.page.ts'
import type { Message } from './tree.ts'

/** What models tell apart. */
export type FileKind = 'image' | 'pdf' | 'audio' | 'text'

/** A file that was picked, dropped or pasted. */
export interface ChosenFile {
  readonly key: string
  readonly file: File
  readonly kind: FileKind
  /** A `blob:` address of a picture, to be revoked when it is not shown any more. */
  readonly preview: string | null
}

/** A file of a question that was asked. */
export type Attachment = NonNullable<Message['content']['attachments']>[number]

/** A new file, or one of an earlier question. */
export type QuestionFile = { readonly id: string } | { readonly file: File }

/** As the gateway takes them. */
const fileBytesMax = 20 * 1024 * 1024
const textBytesMax = 1024 * 1024
export const filesMax = 10

/** For the dialog of the browser. */
export const acceptedTypes = 'image/png,image/jpeg,image/gif,image/webp,application/pdf,audio/wav,audio/mpeg,text/*'

const images = /^image\/(png|jpeg|gif|webp)$/
const sounds = /^audio\/(wav|wave|x-wav|vnd\.wave|mpeg|mp3)$/
const neverText = /^(image\/(?!svg)|audio\/|video\/|font\/)|zip|officedocument|msword|octet-stream/

/** null = no model takes it. The gateway looks into the file; this is for what a person sees first. */
export function kindOf({ type }: File): FileKind | null {
  if (images.test(type)) return 'image'
  if (type === 'application/pdf') return 'pdf'
  if (sounds.test(type)) return 'audio'
  return neverText.test(type) ? null : 'text'
}

/** Why a file cannot be sent at all; null = it can. */
export function problemOf(file: File): string | null {
  const { name, size } = file
  const kind = kindOf(file)
  if (kind === null) return t('chat.fileKind', { name })
  const most = kind === 'text' ? textBytesMax : fileBytesMax
  // A large picture is made smaller before it is sent.
  if (size > most && kind !== 'image') return t('chat.fileSize', { name, most: most / 1024 / 1024 })
  return size === 0 ? t('chat.fileEmpty', { name }) : null
}

/** Which of the models do not take files of this kind. Of a model nothing is known of, the model decides. */
export function refusing(kind: FileKind, models: readonly HubModel[]): readonly string[] {
  return models.filter(one => !takes(kind, one)).map(one => one.model_group)
}

function takes(kind: FileKind, model: HubModel): boolean {
  const { supports_vision: image, supports_pdf_input: pdf, supports_audio_input: audio } = model
  const isKnown = image != null || pdf != null || audio != null
  return kind === 'text' || !isKnown || { image, pdf, audio }[kind] === true
}

/** More is not seen by models, and costs time. */
const sideMax = 2048
const imageBytesMax = 4 * 1024 * 1024

/** A large picture smaller, everything else as it is. */
export async function prepared(file: File): Promise<File> {
  if (kindOf(file) !== 'image' || file.type === 'image/gif') return file
  const picture = await createImageBitmap(file).catch(() => null)
  if (!picture) return file
  const scale = Math.min(1, sideMax / Math.max(picture.width, picture.height))
  if (scale === 1 && file.size <= imageBytesMax) return file
  const canvas = document.createElement('canvas')
  canvas.width = Math.round(picture.width * scale)
  canvas.height = Math.round(picture.height * scale)
  canvas.getContext('2d')!.drawImage(picture, 0, 0, canvas.width, canvas.height)
  const type = file.type === 'image/png' && file.size <= imageBytesMax ? 'image/png' : 'image/jpeg'
  const blob = await new Promise<Blob | null>(resolve => canvas.toBlob(resolve, type, 0.9))
  return blob ? new File([blob], file.name, { type }) : file
}

/** A part of a chat message, in OpenAI's words. */
export async function partOf(file: File): Promise<object> {
  const kind = kindOf(file)
  if (kind === 'text') return { type: 'text', text: `${file.name}:\n\n${await file.text()}` }
  const data = await base64Of(file)
  if (kind === 'image') return { type: 'image_url', image_url: { url: `data:${file.type};base64,${data}` } }
  if (kind === 'audio')
    return { type: 'input_audio', input_audio: { data, format: /wav/.test(file.type) ? 'wav' : 'mp3' } }
  return { type: 'file', file: { filename: file.name, file_data: `data:application/pdf;base64,${data}` } }
}

/** Its bytes in base64. */
export async function base64Of(file: Blob): Promise<string> {
  const reader = new FileReader()
  const url = await new Promise<string>((resolve, reject) => {
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(new Error(t('chat.fileGone')))
    reader.readAsDataURL(file)
  })
  return url.slice(url.indexOf(',') + 1)
}
