# slide.gp: the form of a figure for a slide: one panel, whose letters are legible in the back row of a room. Beside NAME.gp
# there is NAME_slide.gp. It loads this file, as other figures load style.gp, and calls open_panel in place of open_picture.
load ARG0[:strlen(ARG0) - strlen("slide.gp")]."style.gp"

# The smallest letters have 4.4 % of the height at least: 24 points on a slide of 540. A point of PNG is 4/3 units of SVG.
LETTERS = fine ? 22 : 18
HEIGHT = LETTERS * 4 / 3.0 / 0.045
share(format) = format eq "svg" ? 22 / 0.045 / HEIGHT : 1
open_panel(format, name) = open_picture(format, name."_slide", share(format) * HEIGHT * 16 / 9, share(format) * HEIGHT)

# The picture's title, and the edges of the panel as shares of the picture's width and height.
slide(title, left, right, bottom, top) = "set multiplot; ".panel("", left, right, bottom, top) \
    .sprintf("; set label 1 \"{/:Bold %s}\" at screen 0.02, 0.94; eval font_note; eval curves; set key off", say(title))
