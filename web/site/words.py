"""Words of the frame around a page, in the languages that lessons are in."""

from __future__ import annotations

WORDS = {
    "en": {
        "code": "Code", "picture": "Picture", "in words": "The picture in words",
        "wider": "Wider than this screen: scroll the picture sideways, or read it in words.",
        "contents": "On this page", "skip": "Skip to the text", "site": "Site",
        "previous": "Before this", "next": "Next", "solutions": "Solutions",
        "solutions_long": "Every card revealed, every exercise solved",
        "back": "Back to the lesson", "around": "Other pages", "tools": "Tools of this page",
        "instructor": "For instructors", "lesson": "Lesson",
        "notebook": "As a notebook", "JupyterLite": "In this browser; nothing is installed",
        "Colab": "On Google's machines; the first cell installs memlab",
        "Binder": "In JupyterLab on mybinder.org, after some minutes",
    },
    "zh": {
        "code": "代码", "picture": "图", "in words": "用文字描述此图",
        "wider": "图比屏幕宽。请左右滚动，或阅读文字描述。",
        "contents": "本页内容", "skip": "跳到正文", "site": "网站",
        "previous": "上一课", "next": "下一课", "solutions": "答案",
        "solutions_long": "所有卡片已揭晓，所有练习已解答",
        "back": "返回课程", "around": "其他页面", "tools": "本页工具",
        "instructor": "教师页", "lesson": "课程",
        "notebook": "以笔记本打开", "JupyterLite": "在本浏览器中运行，无需安装",
        "Colab": "在谷歌的机器上运行，第一个单元格会安装 memlab",
        "Binder": "在 mybinder.org 的 JupyterLab 中运行，需等待几分钟",
    },
}  # fmt: skip


def of(key: str, language: str) -> str:
    """Return a word in a language; in English where that language has none.

    >>> of("code", "zh"), of("code", "ja")
    ('代码', 'Code')
    """
    return WORDS.get(language, {}).get(key) or WORDS["en"][key]
