"""The word stock of the made-up languages: real little words, and real roots to build the rest from.

A word is a beginning, a root and an ending. English and German also join two roots; Arabic pours the three
letters of a root into a pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True, slots=True)
class Stock:
    """What the words of one language are made of. A hyphen stands for nothing."""

    little: str  # the commonest first
    beginnings: str
    roots: str
    endings: str
    joined: bool = False  # two roots make a word, too
    nouns: bool = False  # roots and what is joined from them are written with a capital


_EN = Stock(
    little="the of and to in a is that for it was on are as with by at be this from have or an they which "
    "one you had not but were all we when your can said there use each how their if will up other "
    "about out many then them these so some her would make like him into time has look two more",
    beginnings="- - re un over",
    roots="act age air arm art back ball band bank base bath bell bird block board body boil bone book "
    "box branch bread break breath bridge bright brush build burn call camp card care cast chain "
    "chair chance change charge child clean clear clock cloth cloud coal coat cold colour comb "
    "comfort company cook copper copy cord cork cotton count cover crack credit crime curtain curve "
    "damage danger dark day deal death debt degree delight design desire detail dinner direct doubt "
    "drain draw dream dress drink drive drop dust earth edge effect engine event example exchange "
    "expert eye face fact fall farm father fear feather field fight finger fire flag flame flat "
    "flight floor flower fold food foot force form frame friend front fruit garden glass gold grain "
    "grass grip group growth guide hammer hand harbour heart heat help hill history hole hook hope "
    "horn horse hour house humour ice idea impulse income insect invent iron island jewel join "
    "journey judge jump kettle kick kind knot knowledge land language laugh law lead leaf learn "
    "letter level light limit line link list load lock loss love machine mark market mass master "
    "match meal measure meet memory metal middle milk mind mine minute mist money month moon "
    "morning mother motion mountain move music name nation need news night noise note number "
    "observe offer office order owner page paint paper part paste pay peace pencil person picture "
    "place plant plate play point port position powder power press price print process produce "
    "profit protest pull purpose push quality question rain range rate reason record regret "
    "relation reply request respect rest reward river road roll room rule sail salt scale school "
    "science season seat secret sense shade ship shock show side sign silver sleep slope smash "
    "smile smoke snow song sound space stage stamp star state station steam step stone stop store "
    "story stretch structure summer support surprise system table talk taste teach test theory "
    "thought thunder touch town trade train transport trick trouble turn twist unit value view "
    "voice walk war wash waste watch water wave weather week weight wind window winter wire woman "
    "wood word work wound write",
    endings="- - s ed ing er ers ly ness ment able ful less",
    joined=True,
)
_DE = Stock(
    little="die der und in zu den das nicht von sie ist des sich mit dem dass er es ein ich auf so eine "
    "auch als an nach wie im für man aber aus durch wenn nur war noch werden bei hat wir was wird "
    "sein einen welche sind oder um haben einer mir über ihm diese einem ihr uns da zum zur kann "
    "doch vor dieser mich ihn du hatte seine mehr am denn nun unter sehr selbst schon hier",
    beginnings="- - ver be ent über unter vor nach aus zer",
    roots="arbeit arzt auge bahn band bank bau baum berg bild blatt boden brief brot brücke brust buch "
    "burg dach dampf dienst dorf druck eis erde fahrt farbe feld fenster feuer fisch fleisch flug "
    "fluss form frage freund frucht fuß garten gast geist geld glas gold grund haar hafen hand haus "
    "herz himmel hof holz hut kampf karte kind kirche klang kleid kopf korn kraft kreis krieg kunst "
    "land last lauf leben licht lied luft macht markt maß maschine mauer meer messer milch mond mut "
    "nacht name netz obst ohr ordnung papier pferd platz post preis rad rand rat raum recht regen "
    "reich reise ring rohr ruf salz schein schiff schlag schloss schnee schrift schritt schule see "
    "seite sicht sinn sonne spiel sprache stadt stahl stein stern stoff straße strom stück stuhl "
    "sturm tag tal teil tier tisch ton tor traum turm tür uhr ufer volk wagen wahl wald wand wasser "
    "weg wein welt werk wetter wind winter wissen woche wort zahl zeichen zeit zeitung zelt ziel "
    "zimmer zug zweig",
    endings="- - e en er ung lich keit heit bar schaft ig los voll lichen ungen",
    joined=True,
    nouns=True,
)
_ES = Stock(
    little="de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le "
    "ha me si sin sobre este ya entre cuando todo esta ser son dos también fue había era muy hasta "
    "desde está mi porque sólo han yo hay vez puede todos así nos ni parte tiene él uno donde bien",
    beginnings="- - - re des en pre sobre contra inter",
    roots="abraz acab acept acompañ adelant afirm agrad alcanz am anunci apag apoy aprovech arregl avanz "
    "ayud bail baj bes borr brill busc calcul call calm camin cambi cant carg cas caz cen cerr cobr "
    "coloc compar compr comunic conserv consult cont control convers cort cre cruz cuid cult dañ "
    "declar dej demostr descans descubr dese detall dibuj dobl domin dur edific educ elev emple "
    "encontr enseñ entr envi escap escuch esper estudi evit examin explic export expres extrañ "
    "fabric falt felicit figur fij firm flot form forz fund gan gast gir gobern grab grit guard "
    "gust habit habl imagin import indic inform instal intent invent invit jug junt lanz lav leg "
    "levant libr limpi llam lleg llen llev llor luch manch mand manej marc march mat mejor mencion "
    "mir molest mont mostr mud nad naveg necesit neg nombr not observ ocup ofert olvid oper orden "
    "organiz pag par pas peg pens perdon pescad pint plant port practic pregunt prepar present "
    "prest prob proyect public quem quit reclam regal regul represent respet salt salud salv señal "
    "separ sign situ son sop subray sum tall tard tir toc tom trabaj trat trat us valor vari viaj "
    "vigil visit vot",
    endings="ar o as a an amos aba aron ado ada ados adas ando ación aciones ador adora able amente oso "
    "ista ismo amiento es",
)
_RU = Stock(
    little="и в не на я что он с как это по к но они мы из у за вы так же от для о его до да был или если "
    "когда только все еще бы уже при ни быть она их без под чем где кто мне было себя этот них тут "
    "даже потом может нет есть надо там после",
    beginnings="- - по за вы пере при от раз про под на до из",
    roots="бег бел бер боль брат бум вер вес ветр вид вод воз волн вопрос врем встреч глав глаз год голос "
    "гор город груз губ дар двер двиг дел день держ дом дорог друг дум дух душ дым жар желт жив "
    "завод зад зал зелен зем зим знак игр кам карт каш книг кол конц кор корм коров кот край крас "
    "крик круг лег лес лет лист лов лод ломк лун люб маст мат мест мир молод мор мост мысл наук неб "
    "нос ноч образ окн остров пар пев печ пис пол порт прав праздн прост птиц пут раб рад рис род "
    "рост рук рыб ряд сад свет свобод север сел сил слав слов слух смех смотр снег собр совет солн "
    "сон сос спор став стар стен сто стол стор стран строй суд сух счет твор тем тепл тих торг трав "
    "труб труд ум уч хлеб ход холод хор цвет цен част чит чист шаг школ шум язык",
    endings="ать ает ают ал али ание ания аний ник ники ность ности ный ная ные ного ство ка ки ский ов ами",
)
_AR = Stock(
    little="في من على أن إلى هذا عن التي ما لا كان الذي هو مع قد هذه كل بعد ذلك بين أو لم عند غير أي حتى "
    "كما هي إن لكن ثم كانت منذ إذا قبل عليه فيه به له وقد ولا لها منها نحو فيها عليها وهو وهي حيث "
    "أما بل هنا تحت فوق أحد دون",
    beginnings="- - ال ال وال بال لل و ف كال",
    roots="كتب درس علم عمل فتح دخل خرج جلس شرب حمل نظر سمع فهم قبل رسم لعب ذهب رجع سكن طبخ ركب نزل صعد "
    "قطع جمع فرق حكم ملك نصر هزم شكر ذكر صبر كسر حفظ نشر طبع عرض طلب بحث كشف صنع زرع حصد نقل حرك "
    "سبح غرق حرق برد سخن قرب بعد كبر صغر كثر قلل حسن قبح صدق كذب عدل ظلم رحم غضب فرح حزن ضحك بكي "
    "خلق رزق مرض شفي قدم شرف عرف جهل ضرب سرق قتل حرس سجن هرب سفر حضر غيب شهد حسب عدد وزن كيل قسم "
    "ضعف بدل خلط مزج فصل وصل ربط حلل عقد نسج غزل",
    endings="012 0ا12 م01و2 01ا2 012ة م012ة ت01ي2 ا0ت1ا2 است01ا2 م0ا12ة 0ا12ون 01و2 ي012 ت012 012ت م0ت12 01ا2ة م012ين",
)
STOCKS = {"en": _EN, "de": _DE, "es": _ES, "ru": _RU, "ar": _AR}
LITTLE_CHINESE = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里"


def little_words(code: str) -> list[str]:
    """The words that carry no subject, commonest first."""
    return list(LITTLE_CHINESE) if code == "zh" else STOCKS[code].little.split()


def long_words(code: str) -> list[str]:
    """Every word that can be built, in a fixed order; a word may occur twice."""
    if code == "zh":  # the 3,755 common characters of the national standard
        pairs = product(range(0xB0, 0xD8), range(0xA1, 0xFF))
        return list("".join(bytes(pair).decode("gb2312", "ignore") for pair in pairs))
    stock = STOCKS[code]
    begins, roots, ends = (
        ["" if part == "-" else part for part in parts.split()]
        for parts in (stock.beginnings, stock.roots, stock.endings)
    )
    if code == "ar":
        return [begin + _pour(root, pattern) for begin in begins for root in roots for pattern in ends]
    words = [begin + _attach(root, end) for begin in begins for root in roots for end in ends]
    if stock.joined:
        words += [one + two for one in roots for two in roots if one != two]
    if stock.nouns:
        words += roots
        words = [_with_capital(word) for word in words]
    return words


def _attach(root: str, end: str) -> str:
    """Make + ing is making, story + ed is storied, box + s is boxes."""
    if end == "s" and root.endswith(("s", "x", "sh", "ch")):
        return root + "es"
    if end == "s" and root.endswith(("dy", "ny", "py", "ry", "ty")):
        return root[:-1] + "ies"
    if root.endswith("e") and end[:1] in tuple("aei"):
        return root[:-1] + end
    if root.endswith(("dy", "ny", "py", "ry", "ty")) and end in (
        "ness",
        "ed",
        "er",
        "ers",
        "ful",
        "less",
        "able",
    ):
        return root[:-1] + "i" + end
    return root + end


def _with_capital(word: str) -> str:
    small = word.endswith(("lich", "lichen", "bar", "ig", "los", "voll", "en", "e"))
    return word if small else word[0].upper() + word[1:]


def _pour(root: str, pattern: str) -> str:
    return "".join(root[int(letter)] if letter.isdigit() else letter for letter in pattern)
