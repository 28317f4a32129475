/**
 * The text of PDF files, by pdf.js: what their pages show and their notes, forms, properties, bookmarks and embedded
 * files say. What pdf.js leaves out is unreadable, never nothing. Runs in the thread of files alone.
 */
import * as pdfjs from 'unpdf/pdfjs'
import type { PDFDocumentProxy, PDFPageProxy } from 'unpdf/pdfjs'
import type { Reading } from './reading.ts'

/**
 * What pdf.js cannot follow it says in its log alone, and goes on: of these lines, each stands for text that may be
 * missing. Others are about pictures, hints of fonts, and damage that it has mended.
 */
const losses = new RegExp(
  'Filter ".*" is |Invalid stream|in flate stream|getContentStream - ignoring|ignoring (?:XObject|errors|annotation|' +
    'textContent|ToUnicode)|ignoring operator|Unknown command|Skipping|Font ".*" is not available|' +
    '(?:loadFont|translateFont) -|Type3 font resource|_parsedAnnotations|createGlobals|collectFieldObjects|' +
    'Unable to read|Cannot fetch (?:form|AcroForm)|Search depth limit|Embedded file specification|' +
    'Missing setFont|Invalid cMap data|Unterminated|XFA|non-existent function in CMap',
)

/** Said of a picture, which is left out since it is larger than nothing. */
const pictureLine = /Image exceeded maximum allowed size/

/** The thread has this console for itself, and reads one file at a time. */
let hasLost = false
let hasPicture = false
const listen = (line: unknown): void => {
  if (losses.test(String(line))) hasLost = true
  if (pictureLine.test(String(line))) hasPicture = true
}
for (const level of ['warn', 'info', 'log'] as const) console[level] = listen

/** Pictures are not unpacked, and no font is fetched. */
const options: Parameters<typeof pdfjs.getDocument>[0] = {
  maxImageSize: 0,
  disableFontFace: true,
  useSystemFonts: false,
  fontExtraProperties: true,
  isOffscreenCanvasSupported: false,
  verbosity: pdfjs.VerbosityLevel.INFOS,
}
/** pdf.js would unpack each stream to its end at once; without it, it unpacks as far as it reads. */
Reflect.deleteProperty(globalThis, 'DecompressionStream')

/** A word has at least so many letters; marks of lists, which often have no meaning in Unicode, have fewer. */
const unknownGlyphsMax = 2

/** One file, opened twice: where errors end the reading, and where they are passed over to read what is left. */
interface OpenPdf {
  readonly strict: PDFDocumentProxy
  readonly lenient: PDFDocumentProxy
}

/** Everything that can be read, page by page, and whether something could not. `embedded` reads a file inside. */
export async function* pdfReadings(
  bytes: Uint8Array,
  embedded: (bytes: Uint8Array) => AsyncIterable<Reading>,
): AsyncGenerator<Reading> {
  hasLost = false
  const opened = await open(bytes)
  if ('unreadable' in opened) {
    yield opened
    return
  }
  try {
    yield* orLost(wholeReadings(opened, embedded))
    for (let number = 1; number <= opened.lenient.numPages; number++)
      yield* orLost(pageReadings(opened, number, embedded))
  } finally {
    await Promise.all([opened.strict.loadingTask.destroy(), opened.lenient.loadingTask.destroy()])
  }
  if (hasLost) yield { unreadable: 'a PDF with parts that cannot be read' }
}

/** Of a part that cannot be read to its end, what was read before. */
async function* orLost(part: AsyncGenerator<Reading>): AsyncGenerator<Reading> {
  try {
    yield* part
  } catch {
    hasLost = true
  }
}

async function open(bytes: Uint8Array): Promise<OpenPdf | { readonly unreadable: string }> {
  try {
    // pdf.js takes the bytes it is given away.
    const lenient = await pdfjs.getDocument({ ...options, data: new Uint8Array(bytes) }).promise
    return {
      lenient,
      strict: await pdfjs.getDocument({ ...options, data: new Uint8Array(bytes), stopAtErrors: true }).promise,
    }
  } catch (error) {
    return { unreadable: error instanceof pdfjs.PasswordException ? 'an encrypted PDF' : 'a damaged PDF' }
  }
}

/** What the file says beside its pages. */
async function* wholeReadings(
  { lenient: pdf }: OpenPdf,
  embedded: (bytes: Uint8Array) => AsyncIterable<Reading>,
): AsyncGenerator<Reading> {
  const { info, metadata } = await pdf.getMetadata()
  if ('IsXFAPresent' in info && info.IsXFAPresent === true) hasLost = true
  const parts = [
    titles(info),
    metadata?.getRaw(),
    await pdf.getOutline(),
    await pdf.getFieldObjects(),
    await pdf.getJSActions(),
  ]
  const text = parts.flatMap(part => [...stringsIn(part)]).join('\n')
  if (text !== '') yield { text }
  const attachments = (await pdf.getAttachments()) as ReadonlyMap<string, Attachment> | null
  for (const [name, attachment] of attachments ?? []) {
    yield { text: [name, ...stringsIn(attachment)].join('\n') }
    const content = attachment.content ?? (await pdf.getAttachmentContent(name))
    if (content) yield* embedded(content)
    else hasLost = true
  }
}

/** What an author has written, without days, versions and programs. */
const titles = (info: object): unknown[] =>
  Object.entries(info).flatMap(([name, value]) => (/Date$|Version$|^(?:Producer|Trapped)$/.test(name) ? [] : [value]))

interface Attachment {
  readonly content?: Uint8Array | null
}

async function* pageReadings(
  { strict, lenient }: OpenPdf,
  number: number,
  embedded: (bytes: Uint8Array) => AsyncIterable<Reading>,
): AsyncGenerator<Reading> {
  hasPicture = false
  const page = await lenient.getPage(number)
  const strictPage = await strict.getPage(number)
  const laidOut = await layoutOf(strictPage).catch(() => {
    hasLost = true
    return layoutOf(page)
  })
  if (laidOut !== '') yield { text: laidOut }
  const { drawn, isPainted } = await drawnText(page)
  // In the order of the content, with what lies outside of the page, and with what notes and fields show.
  if (drawn !== '') yield { text: drawn }
  const isEmpty = laidOut.trim() === '' && drawn.trim() === ''
  if (isEmpty && (isPainted || hasPicture)) yield { unreadable: 'a PDF with pages of pictures' }
  for (const annotation of (await page.getAnnotations()) as Annotation[]) {
    const text = [...stringsIn(annotationTexts.map(name => annotation[name]))].join('\n')
    if (text !== '') yield { text }
    const { file } = annotation
    if (file?.content) yield* embedded(file.content)
    else if (file) hasLost = true
  }
  const text = [...stringsIn(await page.getJSActions()), ...alternativeTexts(await page.getStructTree())].join('\n')
  if (text !== '') yield { text }
  page.cleanup()
}

/** Members of an annotation that hold texts of its author. */
const annotationTexts = [
  'contentsObj',
  'titleObj',
  'richText',
  'alternativeText',
  'fieldName',
  'fieldValue',
  'defaultFieldValue',
  'options',
  'overlaidText',
  'textContent',
  'unsafeUrl',
  'actions',
  'file',
]

interface Annotation extends Record<string, unknown> {
  readonly file?: Attachment
}

/** As a reader sees it: in lines, with what stands close together as one word. */
async function layoutOf(page: PDFPageProxy): Promise<string> {
  const { items } = await page.getTextContent()
  return items.map(item => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('')
}

interface Glyph {
  readonly originalCharCode: number
  readonly unicode: string
  readonly isSpace: boolean
}

/** What pdf.js knows of a font; without `_map` its codes stand for glyphs, and for no letters. */
interface Font {
  readonly toUnicode?: { readonly _map?: Readonly<Record<number, unknown>> }
}

/** The letters that the page draws, and whether it paints anything else. */
async function drawnText(page: PDFPageProxy): Promise<{ drawn: string; isPainted: boolean }> {
  const { fnArray, argsArray } = await page.getOperatorList()
  const { commonObjs } = page as unknown as { commonObjs: { has(name: string): boolean; get(name: string): Font } }
  const unknown = new Set<string>()
  let font: Font | undefined
  let name = ''
  let drawn = ''
  let isPainted = false
  for (const [at, operator] of fnArray.entries()) {
    const args = argsArray[at] as readonly unknown[] | null
    if (operator === pdfjs.OPS.setFont) {
      name = String(args?.[0])
      font = commonObjs.has(name) ? commonObjs.get(name) : undefined
    } else if (operator === pdfjs.OPS.showText) {
      const glyphs = ((args?.[0] ?? []) as readonly (Glyph | number)[]).filter(one => typeof one === 'object')
      for (const glyph of glyphs) if (isUnknown(glyph, font)) unknown.add(`${name} ${glyph.originalCharCode}`)
      drawn += `${glyphs.map(one => one.unicode).join('')}\n`
    } else if (operator === pdfjs.OPS.constructPath || operator === pdfjs.OPS.shadingFill) isPainted = true
  }
  if (unknown.size > unknownGlyphsMax) hasLost = true
  return { drawn, isPainted }
}

/** Nothing says which letter it is: the font has no map for it, or one to no letter. */
function isUnknown({ originalCharCode, unicode, isSpace }: Glyph, font: Font | undefined): boolean {
  if (isSpace) return false
  return !font?.toUnicode?._map?.[originalCharCode] || /[\p{Co}\p{Cc}\ufffd]/u.test(unicode)
}

function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') {
    if (value !== '') yield value
  } else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value))
    for (const one of value instanceof Map ? value.values() : Object.values(value)) yield* stringsIn(one)
}

/** Of pictures, for who cannot see them. */
function* alternativeTexts(node: unknown): Generator<string> {
  if (typeof node !== 'object' || node === null) return
  if ('alt' in node && typeof node.alt === 'string') yield node.alt
  if ('children' in node && Array.isArray(node.children)) for (const one of node.children) yield* alternativeTexts(one)
}
